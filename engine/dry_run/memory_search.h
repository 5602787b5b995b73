#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "engine/dry_run/predict.h"
#include "spec/memory_policy.h"

namespace rm {

inline constexpr Seconds kAnyTime{std::numeric_limits<double>::infinity()};

// A policy and its predicted step.
struct ChosenMemory {
    MemoryPolicy policy;
    Prediction prediction;
};

// The answer of a search: the fastest policy, or else the one nearest to the limits, where none
// is within them; or neither: none that fits can be as fast as was asked for.
struct MemoryChoice {
    std::optional<ChosenMemory> best;
    std::optional<ChosenMemory> nearest;
};

struct LeanMemory {
    Bytes device, host;
};

// One job's search, as choose_memory does it. Remembers what it has predicted.
class MemorySearch {
public:
    MemorySearch(const RankSpec& rank, const StageShape& shape, const MemorySpec& spec,
                 const DryRunOptions& options);
    MemorySearch(const MemorySearch&) = delete;
    ~MemorySearch();

    // A step with everything on the device, whatever its size, and in long tiles: with a profile,
    // next to no policy is faster.
    Result<Prediction> bound();
    // The memory of its device that every policy takes at least.
    Result<Bytes> least_state();
    // The memory of a policy that takes next to least of device and host.
    Result<LeanMemory> leanest();
    // How many steps it has timed so far, or bounded.
    std::int64_t num_predictions() const;
    // With a profile, of policies whose step is faster than `faster_than`; times are those of the
    // ring's last rank.
    Result<MemoryChoice> run(Seconds faster_than);
    // With the times of the ring's first rank where it is the slower one.
    Result<Prediction> both_ends(const ChosenMemory& chosen);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace rm
