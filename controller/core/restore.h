#pragma once

#include <string>

#include "controller/core/state.h"

// After a restore the tables may have forgotten what runs: nothing is planned until the workers
// have said so.
namespace rm {

constexpr Seconds kRestoreHold{60};

// No epoch given since the backup lies above this jump, even where its worker has not spoken yet.
constexpr std::int64_t kRestoreEpochJump = std::int64_t{1} << 20;

// Why nothing is planned now: some node that is not gone has not said hello since the restore, and
// kRestoreHold has not passed. Empty: planning is free.
Reason hold_reason(const State& state, WallTime steady);

// Whether a hello of this node may put attempts into the tables that these do not know: only where
// a restore may have made them forget, once, and of a node that they know or while planning is
// held. At any other time an unknown attempt is nothing that this controller has commanded.
bool may_adopt(const State& state, const NodeId& node, WallTime steady);

}  // namespace rm
