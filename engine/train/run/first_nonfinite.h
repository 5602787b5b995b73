#pragma once

#include <string>

#include "engine/train/rank_engine.h"

namespace rm {

// After a step whose gradient is not finite: the tensor that went wrong first, as a sentence. Looks
// through all weights, then the residual stream before and behind every layer (where it is on the
// device) in a forward pass over `batch`, then the gradients of the step. Collective, while nothing
// is queued; every rank gets the same sentence. Reads everything once: for a run that gives up.
std::string first_nonfinite(RankEngine& engine, const StepBatch& batch);

}  // namespace rm
