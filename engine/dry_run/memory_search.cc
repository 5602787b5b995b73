#include "engine/dry_run/memory_search.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/dry_run/policy_candidates.h"

namespace rm {
namespace {

constexpr int kAlphaSteps = 16;  // alpha is a multiple of 1 / 16
constexpr double kNoShare = 1e300;
constexpr double kTrust = 0.99;  // what takes less than so much of the fastest_policy is not seen
constexpr std::int64_t kStagedInputs = 4;  // of layers on their way to the host, at most
constexpr double kNear = 4e-3;  // as much slower than with everything resident is near enough

// Searches the alphas of one place and chunk.
class AlphaSearch {
public:
    // `resident`: everything on the device, with the policy's tile and keep; `fastest`: the
    // fastest_policy's. Neither is used without times.
    AlphaSearch(PolicyPredictor& predictor, PolicyChoice& choice, const MemoryPolicy& policy,
                const MemoryPolicy& resident, const Prediction& fastest)
        : predictor_(predictor),
          choice_(choice),
          policy_(policy),
          resident_(resident),
          fastest_(fastest) {}

    // Returns whether any fits, or all that may fit are too slow.
    Result<bool> run() {
        RM_TRY(const bool least_fits, fits(0));
        if (!least_fits) return false;
        if (predictor_.has_times() && policy_.kept == KeptPlace::device) {
            // The largest alpha is the fastest.
            RM_TRY(const bool all_fits, fits(kAlphaSteps));
            if (all_fits) return offer(kAlphaSteps);
        }
        RM_TRY(const bool settled, none_settles());
        if (settled) return true;
        RM_TRY(const int most, largest_that_fits());
        if (predictor_.has_times() && policy_.kept == KeptPlace::host) return descend(most);
        return offer(most);
    }

private:
    MemoryPolicy at(int steps) const {
        MemoryPolicy policy = policy_;
        policy.alpha = static_cast<double>(steps) / kAlphaSteps;
        return policy;
    }
    Result<bool> fits(int steps) {
        RM_TRY(const Prediction memory, predictor_.memory_of(at(steps)));
        if (share_of_limits(policy_, memory) <= 1) return true;
        choice_.offer(at(steps), memory);
        return false;
    }
    Result<bool> offer(int steps) {
        RM_TRY(const Prediction prediction, predictor_(at(steps)));
        return choice_.offer(at(steps), prediction);
    }
    // Whether no alpha above 0 is worth a search.
    Result<bool> none_settles() {
        if (!predictor_.has_times()) return false;
        RM_TRY(const Prediction none, predictor_(at(0)));
        choice_.offer(at(0), none);
        if (is_near(none, fastest_)) return true;
        RM_TRY(const Prediction resident, predictor_.times_of(resident_));
        return is_near(none, resident);
    }
    // Whether all recomputation that `faster` does not do, of none's, is little or does not make up
    // for none's waits.
    bool is_near(const Prediction& none, const Prediction& faster) {
        saved_ = std::max(0.0, none.busy.at("compute") - faster.busy.at("compute"));
        return none.step.value <= (1 + kNear) * faster.step.value ||
               saved_ <= kNear * none.step.value ||
               choice_.loses({(none.step.value - saved_) / (1 - kNear)});
    }
    // More alpha takes more memory, about in proportion: the first guess is where the line through
    // none and all meets the limits.
    Result<int> largest_that_fits() {
        int fitting = 0, above = kAlphaSteps + 1;
        for (int next = kAlphaSteps; above - fitting > 1;) {
            RM_TRY(const bool good, fits(next));
            (good ? fitting : above) = next;
            if (next == kAlphaSteps) {
                RM_TRY(next, where_limits_are_met());
            } else {
                next += good ? 1 : -1;
            }
            next = std::clamp(next, fitting + 1, std::max(fitting + 1, above - 1));
        }
        return fitting;
    }
    Result<int> where_limits_are_met() {
        RM_TRY(const Prediction none, predictor_.memory_of(at(0)));
        RM_TRY(const Prediction all, predictor_.memory_of(at(kAlphaSteps)));
        const double least = share_of_limits(policy_, none), most = share_of_limits(policy_, all);
        if (most <= least) return kAlphaSteps;
        return static_cast<int>(kAlphaSteps * (1 - least) / (most - least));
    }
    // Each step of alpha saves recomputation up to the best one and costs waits beyond it: a
    // Fibonacci search, which halves the rest with little more than one prediction.
    Result<bool> descend(int most) {
        int before = -1, shorter = 1, length = 2;  // the best is in (before, before + length)
        while (length < most + 2)
            shorter = std::exchange(length, length + shorter);
        RM_TRY(const Prediction none, predictor_.times_of(at(0)));
        while (length > 2) {
            const int last = std::min(most, before + length - 1);
            const double saved = saved_ * last / kAlphaSteps;
            if (choice_.loses({(none.step.value - saved) / (1 - kNear)})) return true;
            const int lower = before + length - shorter, higher = before + shorter;
            RM_TRY(const Seconds low, step_of(lower, most));
            RM_TRY(const Seconds high, step_of(higher, most));
            if (high <= low) before = lower;
            length = std::exchange(shorter, length - shorter);
        }
        return offer(before + 1);
    }
    Result<Seconds> step_of(int steps, int most) {
        if (steps > most) return kAnyTime;
        RM_TRY(const Prediction prediction, predictor_.times_of(at(steps)));
        return prediction.step;
    }

    PolicyPredictor& predictor_;
    PolicyChoice& choice_;
    const MemoryPolicy policy_, resident_;
    const Prediction& fastest_;
    double saved_ = 0;  // seconds of recomputation, by all of alpha
};

// Tries one place to keep activations.
class PlaceSearch {
public:
    PlaceSearch(const MemorySpec& spec, MemoryPolicy place, PolicyPredictor& predictor,
                PolicyChoice& choice)
        : spec_(spec), policy_(place), predictor_(predictor), choice_(choice) {}

    Status run() {
        const std::vector<std::int64_t> chunks = chunks_of(spec_, predictor_);
        policy_.chunk_tokens = chunks.front();
        resident_ = resident_policy(spec_, policy_.keep, policy_.keep_every);
        resident_.chunk_tokens = chunks.front();
        if (predictor_.has_times()) {
            RM_TRY(const bool slow, is_slow());
            if (slow) least_share_ = kNoShare;
            if (slow) return {};
        }
        RM_TRY(const bool too_much, device_is_short());
        if (too_much) return {};
        // Activations that stay on the device do not move in chunks.
        if (predictor_.has_times() && policy_.kept == KeptPlace::device) {
            const auto fits = try_alphas();
            if (fits && !*fits) RM_RETURN_IF_ERROR(note_least());
            return fits ? Status() : fits.error();
        }
        RM_TRY(const bool short_host, host_is_short());
        return short_host ? Status() : try_chunks(chunks);
    }

    // The share of the limits with as little kept as the spec allows; 0: not known.
    double least_share() const { return least_share_; }

private:
    // Whether not even the fastest_policy is fast enough.
    Result<bool> is_slow() {
        Keep keep = spec_.keep.value_or(Keep::input_and_attention);
        RM_TRY(fastest_, predictor_.times_of(fastest_policy(spec_, predictor_, keep, 1)));
        Seconds least = fastest_.step;
        // Attention's forward pass, again, is a quarter of its time or so.
        if (policy_.keep != keep) least += Seconds{fastest_.phases["attention"] / 8};
        if (choice_.is_slow({kTrust * least.value})) return true;
        keep = policy_.keep;
        RM_TRY(fastest_,
               predictor_.times_of(fastest_policy(spec_, predictor_, keep, policy_.keep_every)));
        return choice_.is_slow({kTrust * fastest_.step.value});
    }

    // The device would keep what the host does.
    Result<bool> device_is_short() {
        const bool same = spec_.keep_precision == KeptPrecision::compute;
        if (policy_.kept == KeptPlace::host || policy_.device.value == 0 || !same) return false;
        if (spec_.offload == Switch::off || !predictor_.has_times()) return false;
        MemoryPolicy other = policy_;
        other.kept = KeptPlace::host;
        other.alpha = spec_.alpha.value_or(0);
        RM_TRY(const Prediction memory, predictor_.memory_of(other));
        return memory.state.total + memory.host.planned > policy_.device;
    }

    // Windows keep on the host what whole layers do, and more.
    Result<bool> host_is_short() {
        if (policy_.working != WorkingSet::windows || policy_.host.value == 0) return false;
        MemoryPolicy whole = policy_;
        whole.working = WorkingSet::whole;
        if (!spec_.alpha) whole.alpha = 0;
        RM_TRY(const Prediction memory, predictor_.memory_of(whole));
        if (memory.host_total() <= whole.host) return false;
        least_share_ = kNoShare;
        choice_.offer(whole, memory);
        return true;
    }

    // The alphas of the present chunk, or the spec's. Returns whether shorter chunks need no
    // search: an alpha fits, or none can be the fastest.
    Result<bool> try_alphas() {
        if (!spec_.alpha)
            return AlphaSearch(predictor_, choice_, policy_, resident_, fastest_).run();
        RM_TRY(const Prediction memory, predictor_.memory_of(policy_));
        if (share_of_limits(policy_, memory) > 1) return choice_.offer(policy_, memory);
        RM_TRY(const Prediction prediction, predictor_(policy_));
        return choice_.offer(policy_, prediction);
    }

    // From the usual chunk down to the first that fits; where the usual one fits, long ones too.
    Status try_chunks(const std::vector<std::int64_t>& chunks) {
        double last = 0;
        for (const std::int64_t chunk : chunks) {
            policy_.chunk_tokens = chunk;
            RM_TRY(const bool fits, try_alphas());
            if (fits && chunk == chunks.front()) return try_longer();
            if (fits) return {};
            RM_RETURN_IF_ERROR(note_least());
            if (least_share_ == kNoShare) return {};
            if (last > 0 && cannot_reach_limit(last, least_share_)) return {};
            last = least_share_;
        }
        return {};
    }
    Status note_least() {
        MemoryPolicy least = policy_;
        if (!spec_.alpha) least.alpha = 0;
        RM_TRY(const Prediction memory, predictor_.memory_of(least));
        // The host keeps the same of all tokens, whatever the tile and the chunk.
        const bool short_host = least.host.value > 0 && memory.host_total() > least.host;
        least_share_ = short_host ? kNoShare : share_of_limits(least, memory);
        return {};
    }

    // Longer chunks hide more of the waits, if there are any.
    Status try_longer() {
        if (!predictor_.has_times() || spec_.chunk > 0 || !is_best()) return {};
        const ChosenMemory& best = *choice_.best();
        const auto waits = best.prediction.phases.find(exposed_phase("offload"));
        if (waits == best.prediction.phases.end()) return {};
        if (waits->second <= kNear * best.prediction.step.value) return {};
        policy_.alpha = choice_.best()->policy.alpha;
        RM_TRY(const std::vector<std::int64_t> longer, predictor_.longer_chunks(policy_));
        for (const std::int64_t chunk : longer) {
            policy_.chunk_tokens = chunk;
            RM_TRY(const Prediction memory, predictor_.memory_of(policy_));
            if (share_of_limits(policy_, memory) <= 1) {
                RM_TRY(const Prediction prediction, predictor_(policy_));
                if (choice_.best()->prediction.step <= prediction.step) continue;
            }
            RM_TRY([[maybe_unused]] const bool fits, try_alphas());
        }
        return {};
    }
    // Whether the best policy so far is this place's.
    bool is_best() const {
        if (!choice_.best()) return false;
        MemoryPolicy best = choice_.best()->policy;
        best.alpha = policy_.alpha;
        return best == policy_;
    }

    const MemorySpec& spec_;
    MemoryPolicy policy_, resident_;
    PolicyPredictor& predictor_;
    PolicyChoice& choice_;
    Prediction fastest_;
    double least_share_ = 0;
};

// The shares of the limits that each place took at least, with the last two tiles; kNoShare: no
// tile makes it fit.
class PlaceShares {
public:
    void add(std::size_t place, double share) {
        auto& [before, last] = shares_[place];
        before = std::exchange(last, share);
    }
    // Whether no shorter tile makes the place fit.
    bool is_hopeless(std::size_t place) const {
        const auto found = shares_.find(place);
        if (found == shares_.end()) return false;
        const auto& [before, last] = found->second;
        if (last == kNoShare) return true;
        return before > 0 && last > 1 && cannot_reach_limit(before, last);
    }

private:
    std::map<std::size_t, std::pair<double, double>> shares_;
};

Status try_places(const MemorySpec& spec, int keep_every, WorkingSet working,
                  PolicyPredictor& predictor, PolicyChoice& choice, PlaceShares& shares) {
    const std::vector<MemoryPolicy> places = places_of(spec, keep_every);
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i].working != working || shares.is_hopeless(i)) continue;
        // Windows only save device memory: whole layers that fit move less.
        if (working == WorkingSet::windows && choice.fits()) break;
        PlaceSearch search(spec, places[i], predictor, choice);
        RM_RETURN_IF_ERROR(search.run());
        shares.add(i, search.least_share());
        if (choice.decided()) break;
    }
    return {};
}

// Whether whole layers are within the device's limit in any tile, as far as their leanest policy
// says. Many tiles take long to ask, and where windows are allowed most that need them are
// hopeless.
Result<bool> whole_may_fit(const MemorySpec& spec, PolicyPredictor& predictor) {
    if (!spec.device || !predictor.has_times() || spec.windows == Switch::off ||
        spec.offload == Switch::off)
        return true;
    MemorySpec tiled = spec;
    double last = 0;
    for (const std::int64_t tile : tiles_of(spec, predictor)) {
        tiled.tile = tile;
        RM_TRY(const Prediction memory, predictor.memory_of(leanest_whole(tiled)));
        const double share = static_cast<double>(memory.device_total().value) /
                             static_cast<double>(spec.device->value);
        if (share <= 1) return true;
        if (last > 0 && cannot_reach_limit(last, share)) return false;
        last = share;
    }
    return false;
}

// In shorter tiles as long as the device is what is short, and they may save enough.
Status try_tiles(const MemorySpec& spec, int keep_every, WorkingSet working,
                 PolicyPredictor& predictor, PolicyChoice& choice) {
    MemorySpec tiled = spec;
    PlaceShares shares;
    double last = 0;
    for (const std::int64_t tile : tiles_of(spec, predictor)) {
        tiled.tile = tile;
        RM_RETURN_IF_ERROR(try_places(tiled, keep_every, working, predictor, choice, shares));
        if (choice.fits() || !choice.lacks_device()) break;
        const double share = choice.nearest_share();
        if (last > 0 && cannot_reach_limit(last, share)) break;
        last = share;
    }
    return {};
}

}  // namespace

struct MemorySearch::Parts {
    PolicyPredictor predictor;
    MemorySpec spec;
    std::int64_t layers;
};

MemorySearch::MemorySearch(const RankSpec& rank, const StageShape& shape, const MemorySpec& spec,
                           const DryRunOptions& options)
    : parts_(new Parts{{rank, shape, options}, spec, rank.model.num_layers}) {}
MemorySearch::~MemorySearch() = default;

std::int64_t MemorySearch::num_predictions() const {
    return parts_->predictor.num_predictions();
}

Result<Prediction> MemorySearch::bound() {
    const MemorySpec& spec = parts_->spec;
    const Keep keep = spec.keep.value_or(Keep::input_and_attention);
    return parts_->predictor.times_of(fastest_policy(spec, parts_->predictor, keep, 1));
}

Result<Bytes> MemorySearch::least_state() {
    MemorySpec spec = parts_->spec;
    spec.tile = tiles_of(spec, parts_->predictor).back();
    return parts_->predictor.state(
        resident_policy(spec, spec.keep.value_or(Keep::input_and_attention)));
}

// Inputs of every k-th layer take b / k of the host beside what all policies take: two predictions
// of few layers give the host's memory for the largest k.
Result<LeanMemory> MemorySearch::leanest() {
    MemorySpec spec = parts_->spec;
    for (const std::int64_t tile : tiles_of(spec, parts_->predictor)) {
        spec.tile = tile;
        if (tile <= kLeanTile) break;
    }
    const std::vector<int> groups = groups_of(spec);
    MemoryPolicy policy = places_of(spec, groups.front()).back();
    policy.alpha = spec.alpha.value_or(0);
    if (spec.chunk == 0) policy.chunk_tokens = std::max(spec.tile, policy.chunk_tokens);
    RM_TRY(const Prediction all, parts_->predictor.memory_of(policy));
    const LeanMemory memory{all.device_total(), all.host_total()};
    if (groups.size() < 2) return memory;
    policy.keep_every = 2;
    RM_TRY(const Prediction half, parts_->predictor.memory_of(policy));
    const std::int64_t inputs = 2 * (memory.host.value - half.host_total().value);
    return LeanMemory{memory.device, Bytes{memory.host.value - inputs + inputs / groups.back()}};
}

Result<Prediction> MemorySearch::both_ends(const ChosenMemory& chosen) {
    return parts_->predictor.both_ends(chosen);
}

Result<MemoryChoice> MemorySearch::run(Seconds faster_than) {
    const MemorySpec& spec = parts_->spec;
    PolicyPredictor& predictor = parts_->predictor;
    if (!spec.device && !spec.host) {
        const MemoryPolicy policy = resolve_memory(spec);
        RM_TRY(Prediction prediction, predictor(policy));
        return MemoryChoice{ChosenMemory{policy, std::move(prediction)}, {}};
    }
    PolicyChoice choice(predictor.has_times(), faster_than);
    RM_TRY(const bool whole_may_fit, rm::whole_may_fit(spec, predictor));
    for (const int keep_every : groups_of(spec)) {
        if (predictor.has_times()) {
            const Keep keep = spec.keep.value_or(Keep::input_and_attention);
            RM_TRY(const Prediction fastest,
                   predictor.times_of(fastest_policy(spec, predictor, keep, keep_every)));
            if (choice.is_slow({kTrust * fastest.step.value})) break;
        }
        // With fewer inputs than pass through on their way to the host, the device may keep less.
        const bool as_lean = parts_->layers / keep_every >= kStagedInputs;
        for (const WorkingSet working : {WorkingSet::whole, WorkingSet::windows}) {
            if (working == WorkingSet::whole && as_lean && !whole_may_fit) continue;
            RM_RETURN_IF_ERROR(try_tiles(spec, keep_every, working, predictor, choice));
            if (choice.fits()) return std::move(choice).take();
        }
    }
    return std::move(choice).take();
}

}  // namespace rm
