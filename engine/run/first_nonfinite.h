#pragma once

#include <string>

#include "engine/train/rank_engine.h"

namespace rm {

// Names, in a sentence, the first tensor that is not finite after a step with such a gradient.
// Looks through all weights, then the residual stream before and behind every layer (if it is on
// the device) in a forward pass over `batch`, then the step's gradients. Collective, while nothing
// is queued; every rank gets the same sentence. Slow, since it reads everything: for runs that end.
std::string first_nonfinite(RankEngine& engine, const StepBatch& batch);

}  // namespace rm
