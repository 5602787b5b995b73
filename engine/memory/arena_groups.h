#pragma once

#include "engine/memory/arena_planner.h"

namespace rm {

// Two levels, as in MEMO (arXiv:2407.12117): the blocks of each group (a layer's forward, a layer's
// backward) are placed relative to each other; then groups, as single blocks that live from their
// first block's begin to their last one's end and are as large as their plan, are placed among the
// blocks without a group. Groups that are equal but for a shift in time are solved once. A block
// that outlives its layer is better left without a group: it would keep the whole layer's bytes.
ArenaPlan plan_grouped(const ArenaTrace& trace, const ArenaGoal& goal, const ArenaWork& work);

}  // namespace rm
