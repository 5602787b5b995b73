#pragma once

#include "engine/dry_run/predict.h"
#include "spec/memory_policy.h"

namespace rm {

// A policy and what a step takes with it.
struct ChosenMemory {
    MemoryPolicy policy;
    Prediction prediction;
};

// The fastest policy that stays within `spec`'s limits: what the spec says stays, what it leaves to
// the plan is tried. Alpha is the largest that fits, and of what is kept on the host the one where
// more would take longer to move than to do again. Without a profile the first that fits of: kept
// on the device, on the host, in windows, each with the largest alpha, and then the same with
// attention done again. A spec without limits is resolve_memory's. The shape's own memory is not
// looked at. The same on every rank: a pure function of its arguments.
// Errors: those of predict; resource_exhausted naming the policy that comes nearest to the limits
// and what it takes.
Result<ChosenMemory> choose_memory(const RankSpec& rank, const StageShape& shape,
                                   const MemorySpec& spec, const DryRunOptions& options);

}  // namespace rm
