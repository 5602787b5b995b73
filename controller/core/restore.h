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
std::string hold_reason(const State& state, WallTime now);

}  // namespace rm
