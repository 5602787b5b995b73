#pragma once

#include <string>

#include "controller/core/state.h"

// After a restore the tables may lack running attempts: the controller plans nothing until the
// workers have reported them.
namespace rm {

constexpr Seconds kRestoreHold{60};

// No epoch issued since the backup lies above this jump, even if its worker has not reported yet.
constexpr std::int64_t kRestoreEpochJump = std::int64_t{1} << 20;

// Why nothing is planned now: some node that is not gone has not said hello since the restore, and
// kRestoreHold has not passed. Empty: planning is free.
Reason hold_reason(const State& state, WallTime steady);

// Whether a hello of this node may add unknown attempts to the tables. Only after a restore, which
// may have lost them: once for a node that the tables know, and while planning is held for any
// other. At any other time this controller never commanded an unknown attempt.
bool may_adopt(const State& state, const NodeId& node, WallTime steady);

}  // namespace rm
