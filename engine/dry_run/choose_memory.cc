#include "engine/dry_run/choose_memory.h"

#include <algorithm>
#include <map>
#include <vector>

#include "engine/dry_run/hiding_chunk.h"

namespace rm {
namespace {

constexpr int kAlphaSteps = 16;        // alpha is a multiple of 1 / 16
constexpr int kLongChunk = 4;          // times the usual chunk: tried where it fits
constexpr double kFasterShare = 1e-3;  // less is no reason to prefer a later candidate

// Predicts each policy of one job once.
class Predictor {
public:
    Predictor(const RankSpec& rank, const StageShape& shape, const DryRunOptions& options)
        : rank_(rank), shape_(shape), options_(options) {
        options_.mode = DryRunMode::steady;
    }
    bool has_times() const { return options_.profile != nullptr; }
    Result<Prediction> operator()(const MemoryPolicy& policy) {
        const std::string key = to_string(policy);
        if (const auto known = known_.find(key); known != known_.end()) return known->second;
        shape_.memory = policy;
        RM_TRY(Prediction prediction, predict(rank_, shape_, options_));
        known_.emplace(key, prediction);
        return prediction;
    }

    // Beyond the policy's: one that is long, and in windows the shortest that hides its transfers.
    Result<std::vector<std::int64_t>> longer_chunks(const MemoryPolicy& policy) const {
        std::vector<std::int64_t> longer = {kLongChunk * policy.chunk_tokens};
        if (policy.working != WorkingSet::windows) return longer;
        RM_TRY(const RankLayout layout,
               make_rank_layout(shape_.context, rank_.mesh, rank_.rank, policy));
        const auto [forward, backward] =
            hiding_chunks(rank_.model, layout, options_.types, *options_.profile);
        const std::int64_t hiding = std::max(forward, backward);
        if (hiding > policy.chunk_tokens && hiding != longer[0]) longer.push_back(hiding);
        return longer;
    }

private:
    RankSpec rank_;
    StageShape shape_;
    DryRunOptions options_;
    std::map<std::string, Prediction> known_;
};

// The larger of the two limits' used shares; at most 1: the policy fits.
double share_of_limits(const MemoryPolicy& policy, const Prediction& prediction) {
    const auto share = [](Bytes taken, Bytes limit) {
        if (limit.value == 0) return 0.0;
        return static_cast<double>(taken.value) / static_cast<double>(limit.value);
    };
    return std::max(share(prediction.device_total(), policy.device),
                    share(prediction.host_total(), policy.host));
}

// The best choice so far, and the nearest one where nothing fits.
class Choice {
public:
    explicit Choice(bool by_time) : by_time_(by_time) {}

    // Returns whether the policy fits.
    bool offer(const MemoryPolicy& policy, const Prediction& prediction) {
        const double share = share_of_limits(policy, prediction);
        if (share > 1) {
            if (!nearest_ || share < nearest_share_) nearest_ = {policy, prediction};
            nearest_share_ = nearest_ ? std::min(nearest_share_, share) : share;
            return false;
        }
        if (!best_ || is_faster(prediction.step)) best_ = {policy, prediction};
        return true;
    }
    const std::optional<ChosenMemory>& best() const { return best_; }
    const std::optional<ChosenMemory>& nearest() const { return nearest_; }
    bool decided() const { return best_ && !by_time_; }
    // Faster than the best so far.
    bool is_faster(Seconds step) const {
        return by_time_ && step.value < (1 - kFasterShare) * best_->prediction.step.value;
    }

private:
    bool by_time_;
    std::optional<ChosenMemory> best_, nearest_;
    double nearest_share_ = 1e300;
};

std::vector<std::int64_t> chunks_of(const MemorySpec& spec) {
    if (spec.chunk > 0) return {spec.chunk};
    const std::int64_t usual = resolve_memory(spec).chunk_tokens;
    std::vector<std::int64_t> chunks = {usual};
    for (std::int64_t chunk = usual / 2 / spec.tile * spec.tile; chunk >= spec.tile;
         chunk = chunk / 2 / spec.tile * spec.tile)
        chunks.push_back(chunk);
    return chunks;
}

// The places to keep activations, in the order of choose_memory; alpha and the chunk stay open.
std::vector<MemoryPolicy> places_of(const MemorySpec& spec, int keep_every) {
    std::vector<MemoryPolicy> places;
    for (const Keep keep : {Keep::input_and_attention, Keep::input}) {
        if (spec.keep && *spec.keep != keep) continue;
        MemoryPolicy policy = resolve_memory(spec);
        policy.keep = keep;
        policy.keep_every = keep_every;
        const bool must_window = spec.windows == Switch::on;
        const auto add = [&](KeptPlace kept, WorkingSet working) {
            policy.kept = kept;
            policy.working = working;
            places.push_back(policy);
        };
        if (!must_window && spec.offload != Switch::on) add(KeptPlace::device, WorkingSet::whole);
        if (spec.offload == Switch::off) continue;
        if (!must_window) add(KeptPlace::host, WorkingSet::whole);
        if (spec.windows != Switch::off) add(KeptPlace::host, WorkingSet::windows);
    }
    return places;
}

// How many layers share a kept input, until something fits: more cost a forward pass again.
std::vector<int> groups_of(const MemorySpec& spec) {
    if (spec.keep_every > 0) return {spec.keep_every};
    return {1, 2, 4, 8};
}

// Searches the alphas of one place and chunk.
class AlphaSearch {
public:
    AlphaSearch(Predictor& predictor, Choice& choice, MemoryPolicy policy)
        : predictor_(predictor), choice_(choice), policy_(policy) {}

    // Returns whether any fits.
    Result<bool> run() {
        RM_TRY(const bool least_fits, offer(0));
        if (!least_fits) return false;
        RM_TRY(const int most, largest_that_fits());
        if (predictor_.has_times() && policy_.kept == KeptPlace::host)
            RM_RETURN_IF_ERROR(descend(most));
        return true;
    }

private:
    MemoryPolicy at(int steps) const {
        MemoryPolicy policy = policy_;
        policy.alpha = static_cast<double>(steps) / kAlphaSteps;
        return policy;
    }
    Result<bool> offer(int steps) {
        RM_TRY(const Prediction prediction, predictor_(at(steps)));
        if (share_of_limits(policy_, prediction) > 1) {
            choice_.offer(at(steps), prediction);
            return false;
        }
        // Without times, Choice would keep this smaller alpha as the first that fits.
        if (predictor_.has_times()) choice_.offer(at(steps), prediction);
        return true;
    }
    // More alpha takes more memory.
    Result<int> largest_that_fits() {
        int fits = 0, above = kAlphaSteps + 1;
        while (above - fits > 1) {
            const int middle = fits == 0 && above > kAlphaSteps ? kAlphaSteps : (fits + above) / 2;
            RM_TRY(const bool good, offer(middle));
            (good ? fits : above) = middle;
        }
        RM_TRY(const Prediction prediction, predictor_(at(fits)));
        choice_.offer(at(fits), prediction);
        return fits;
    }
    // Each step of alpha saves recomputation up to the best one and costs waits beyond it.
    Status descend(int most) {
        int low = 0, high = most;
        while (low < high) {
            const int middle = (low + high) / 2;
            RM_TRY(const Prediction here, predictor_(at(middle)));
            RM_TRY(const Prediction next, predictor_(at(middle + 1)));
            if (next.step <= here.step) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        RM_TRY(const Prediction prediction, predictor_(at(low)));
        choice_.offer(at(low), prediction);
        return {};
    }

    Predictor& predictor_;
    Choice& choice_;
    MemoryPolicy policy_;
};

// Whether compute alone, without recomputation and waits, takes as long as the best so far.
Result<bool> cannot_win(MemoryPolicy policy, Predictor& predictor, const Choice& choice) {
    if (!choice.best()) return false;
    policy.alpha = 1;
    RM_TRY(const Prediction prediction, predictor(policy));
    return !choice.is_faster({prediction.busy.at("compute")});
}

// Tries the alphas of a place and chunk, or the spec's. Returns whether shorter chunks need no
// search: an alpha fits, or none can be the fastest.
Result<bool> try_alphas(const MemorySpec& spec, const MemoryPolicy& policy, Predictor& predictor,
                        Choice& choice) {
    RM_TRY(const bool lost, cannot_win(policy, predictor, choice));
    if (lost) return true;
    if (!spec.alpha) return AlphaSearch(predictor, choice, policy).run();
    RM_TRY(const Prediction prediction, predictor(policy));
    return choice.offer(policy, prediction);
}

// Whether a chunk with as little kept as the spec allows stays within the limits.
Result<bool> can_fit(const MemorySpec& spec, MemoryPolicy policy, std::int64_t chunk,
                     Predictor& predictor, Choice& choice) {
    policy.chunk_tokens = chunk;
    if (!spec.alpha) policy.alpha = 0;
    RM_TRY(const Prediction prediction, predictor(policy));
    if (share_of_limits(policy, prediction) <= 1) return true;
    choice.offer(policy, prediction);
    return false;
}

// Tries chunks from the usual one down to the first that fits; where the usual one fits, a long one
// too. A shorter chunk takes no more than a longer one: where the shortest does not fit, none does.
Status try_place(const MemorySpec& spec, MemoryPolicy policy, Predictor& predictor,
                 Choice& choice) {
    const std::vector<std::int64_t> chunks = chunks_of(spec);
    for (const std::int64_t chunk : chunks) {
        policy.chunk_tokens = chunk;
        RM_TRY(const bool fits, try_alphas(spec, policy, predictor, choice));
        if (!fits && chunk == chunks.front()) {
            RM_TRY(const bool any, can_fit(spec, policy, chunks.back(), predictor, choice));
            if (!any) return {};
        }
        if (!fits) continue;
        if (!predictor.has_times() || spec.chunk > 0 || chunk != chunks.front()) return {};
        RM_TRY(const std::vector<std::int64_t> longer, predictor.longer_chunks(policy));
        for (const std::int64_t long_chunk : longer) {
            policy.chunk_tokens = long_chunk;
            RM_TRY([[maybe_unused]] const bool long_fits,
                   try_alphas(spec, policy, predictor, choice));
        }
        return {};
    }
    return {};
}

std::string limits_text(const MemoryPolicy& policy) {
    if (policy.host.value == 0) return format("memory.device: {}", exact_text(policy.device));
    if (policy.device.value == 0) return format("memory.host: {}", exact_text(policy.host));
    return format("memory.device: {} with memory.host: {}", exact_text(policy.device),
                  exact_text(policy.host));
}

Error nothing_fits(const ChosenMemory& nearest) {
    return make_error(
        ErrorCode::resource_exhausted,
        "{} is not enough for any policy that the job allows; the nearest takes {} of the device "
        "and {} of the host: {}",
        limits_text(nearest.policy), exact_text(nearest.prediction.device_total()),
        exact_text(nearest.prediction.host_total()), to_string([&] {
            MemoryPolicy without = nearest.policy;
            without.device = without.host = {};
            return without;
        }()));
}

}  // namespace

Result<ChosenMemory> choose_memory(const RankSpec& rank, const StageShape& shape,
                                   const MemorySpec& spec, const DryRunOptions& options) {
    Predictor predictor(rank, shape, options);
    if (!spec.device && !spec.host) {
        const MemoryPolicy policy = resolve_memory(spec);
        RM_TRY(Prediction prediction, predictor(policy));
        return ChosenMemory{policy, std::move(prediction)};
    }
    Choice choice(predictor.has_times());
    for (const int keep_every : groups_of(spec)) {
        for (const MemoryPolicy& place : places_of(spec, keep_every)) {
            // Windows only save device memory: whole layers that fit move less.
            if (place.working == WorkingSet::windows && choice.best()) continue;
            RM_RETURN_IF_ERROR(try_place(spec, place, predictor, choice));
            if (choice.decided()) break;
        }
        if (choice.best()) break;
    }
    if (choice.best()) return *choice.best();
    RM_CHECK(choice.nearest().has_value(), "no policy was tried");
    return nothing_fits(*choice.nearest());
}

}  // namespace rm
