#pragma once

#include "base/result.h"
#include "engine/run/rank_parts.h"
#include "engine/run/run_state.h"

namespace rm {

// The work of a run before its first step. Collective: every rank makes both calls, in this order.

// Opens the data, and finds out early what would otherwise end the run late: data that is too short
// or foreign to the model, and places where nothing can be written. Rank 0 takes the directory of
// the checkpoints. Point data.slow_open: a piece of the data, or an entry of its directory, takes
// long.
Status check_before_start(RankParts& parts);

// Fills weights and moments from the newest checkpoint that verifies, or from spec.checkpoint.from,
// or from spec.model.from, or from the seed, and moves the data to the position of the
// next step. The study of the data has begun.
Result<StartPoint> load_start(RankParts& parts);

}  // namespace rm
