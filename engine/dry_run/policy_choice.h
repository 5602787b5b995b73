#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/dry_run/hiding_chunk.h"
#include "engine/dry_run/memory_search.h"

// The parts of a search for a memory policy: predictions, and the best of them.
namespace rm {

inline constexpr double kFasterShare = 1e-3;  // less is no reason to prefer a later candidate
inline constexpr int kLongChunk = 4;          // times the usual chunk: tried where it fits

// Predicts each policy of one job once: its memory first, which takes a small part of the time.
class PolicyPredictor {
public:
    PolicyPredictor(const RankSpec& rank, const StageShape& shape, const DryRunOptions& options)
        : rank_(rank), shape_(shape), options_(options) {
        options_.mode = DryRunMode::steady;
    }
    std::int64_t num_predictions() const { return std::ssize(has_times() ? times_ : known_); }
    bool has_times() const { return options_.profile != nullptr; }
    // The tokens of a rank; 0: the mesh does not suit the context, which every prediction says.
    std::int64_t rank_tokens() const {
        const auto layout =
            make_rank_layout(shape_.context, rank_.mesh, rank_.rank, resolve_memory({}));
        return layout ? layout->local_tokens : 0;
    }
    bool suits(std::int64_t tile) const { return tile % rank_.mesh.size(Axis::tensor) == 0; }
    // All of it; with times, those of the ring's last rank.
    Result<Prediction> operator()(const MemoryPolicy& policy) {
        return remembered(policy, known_, [&]() -> Result<Prediction> {
            if (!has_times()) return ask(policy, DryRunOptions::Asked::all);
            RM_TRY(const Prediction memory, memory_of(policy));
            RM_TRY(Prediction prediction, times_of(policy));
            prediction.device = memory.device;
            prediction.host = memory.host;
            return prediction;
        });
    }
    // Its memory alone.
    Result<Prediction> memory_of(const MemoryPolicy& policy) {
        return remembered(policy, memory_,
                          [&] { return ask(policy, DryRunOptions::Asked::memory); });
    }
    // The times alone, of the ring's last rank.
    Result<Prediction> times_of(const MemoryPolicy& policy) {
        return remembered(policy, times_, [&] { return ask(policy, DryRunOptions::Asked::last); });
    }
    // The slower end of the ring.
    Result<Prediction> both_ends(const ChosenMemory& chosen) {
        if (!has_times() || rank_.mesh.size(Axis::ring) == 1) return chosen.prediction;
        RM_TRY(const Prediction first, ask(chosen.policy, DryRunOptions::Asked::first));
        return merge(first, chosen.prediction);
    }

    Result<Bytes> state(const MemoryPolicy& policy) {
        shape_.memory = policy;
        return state_bytes(rank_, shape_, options_);
    }

    // Beyond the policy's: one that is long, and in windows the shortest that hides its transfers.
    Result<std::vector<std::int64_t>> longer_chunks(const MemoryPolicy& policy) const {
        std::vector<std::int64_t> longer = {kLongChunk * policy.chunk_tokens};
        if (policy.working != WorkingSet::windows) return longer;
        RM_TRY(const RankLayout layout,
               make_rank_layout(shape_.context, rank_.mesh, rank_.rank, policy));
        const auto [forward, backward] =
            hiding_chunks(rank_.model, layout, options_.types, *options_.profile, rank_.attention);
        const std::int64_t hiding = std::max(forward, backward);
        if (hiding > policy.chunk_tokens && hiding != longer[0]) longer.push_back(hiding);
        return longer;
    }

private:
    using Known = std::map<std::string, Prediction>;

    template <typename Predict>
    Result<Prediction> remembered(const MemoryPolicy& policy, Known& known,
                                  const Predict& predict) {
        const std::string key = to_string(policy);
        if (const auto found = known.find(key); found != known.end()) return found->second;
        RM_TRY(Prediction prediction, predict());
        known.emplace(key, prediction);
        return prediction;
    }
    Result<Prediction> ask(const MemoryPolicy& policy, DryRunOptions::Asked asked) {
        shape_.memory = policy;
        options_.asked = asked;
        return predict(rank_, shape_, options_);
    }

    RankSpec rank_;
    StageShape shape_;
    DryRunOptions options_;
    Known known_, memory_, times_;
};

// The larger of the two limits' used shares; at most 1: the policy fits.
inline double share_of_limits(const MemoryPolicy& policy, const Prediction& prediction) {
    const auto share = [](Bytes taken, Bytes limit) {
        if (limit.value == 0) return 0.0;
        return static_cast<double>(taken.value) / static_cast<double>(limit.value);
    };
    return std::max(share(prediction.device_total(), policy.device),
                    share(prediction.host_total(), policy.host));
}

// Where a tile or a chunk takes memory in proportion, each half of it saves half as much again: all
// shorter ones together save no more than the last step has, from `last` to `share` of the limits.
inline bool cannot_reach_limit(double last, double share) {
    return share - (last - share) > 1;
}

// The best choice so far, and the nearest one where nothing fits.
class PolicyChoice {
public:
    // By time: only what is faster than `faster_than`.
    PolicyChoice(bool by_time, Seconds faster_than) : by_time_(by_time), to_beat_(faster_than) {}

    // Returns whether the policy fits.
    bool offer(const MemoryPolicy& policy, const Prediction& prediction) {
        const double share = share_of_limits(policy, prediction);
        if (share > 1) {
            if (!nearest_ || share < nearest_share_) nearest_ = {policy, prediction};
            nearest_share_ = nearest_ ? std::min(nearest_share_, share) : share;
            return false;
        }
        const bool better = by_time_ ? is_faster(prediction.step) : !best_;
        if (!better) {
            lost_ = true;
            return true;
        }
        best_ = {policy, prediction};
        to_beat_ = prediction.step;
        return true;
    }
    // Some policy is within the limits, or too slow to be asked whether it is.
    bool fits() const { return best_ || lost_; }
    const std::optional<ChosenMemory>& best() const { return best_; }
    double nearest_share() const { return nearest_share_; }
    // Nothing is within the limits, and the nearest is not for the device's.
    bool lacks_device() const {
        if (!nearest_) return true;
        const Bytes limit = nearest_->policy.device;
        return limit.value > 0 && nearest_->prediction.device_total() > limit;
    }
    bool decided() const { return best_ && !by_time_; }
    // Whether a policy whose step takes this at least cannot be chosen.
    bool loses(Seconds least) {
        const bool slower = by_time_ && !is_faster(least);
        lost_ = lost_ || slower;
        return slower;
    }
    // The same of policies that may not fit, either: others may yet be both fast and within limits.
    bool is_slow(Seconds least) {
        const bool slower = by_time_ && !is_faster(least);
        slow_ = slow_ || slower;
        return slower;
    }
    MemoryChoice take() && {
        if (best_ || lost_ || slow_) return {std::move(best_), {}};
        return {{}, std::move(nearest_)};
    }

private:
    // Than the best so far, or what was asked for.
    bool is_faster(Seconds step) const {
        const double margin = best_ ? 1 - kFasterShare : 1;
        return step.value < margin * to_beat_.value;
    }

    bool by_time_;
    Seconds to_beat_;
    bool slow_ = false;  // something was not asked whether it is within the limits
    bool lost_ = false;  // something within the limits was too slow
    std::optional<ChosenMemory> best_, nearest_;
    double nearest_share_ = 1e300;
};

}  // namespace rm
