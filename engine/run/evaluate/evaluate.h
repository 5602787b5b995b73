#pragma once

#include "base/result.h"
#include "engine/run/rank_parts.h"
#include "engine/run/run_state.h"

namespace rm {

// Computes the held-out loss at the stage's context, as spec.evaluation asks; rank 0 reports it.
// Does nothing where the state has been evaluated or nothing can be scored. Collective, between
// steps.
Status evaluate(RankParts& parts, RunState& state);

}  // namespace rm
