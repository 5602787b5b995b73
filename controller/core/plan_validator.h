#pragma once

#include "controller/core/state.h"

namespace rm {

// Checks a plan for a pending job against the current state, whatever its source: the job may start
// now; devices that exist, are free, in service, not excluded and of one kind and build, one per
// rank; the mesh the job asked for; tile and chunk that fit. The error says what is wrong.
Status validate_plan(const State& state, const Job& job, const Plan& plan, WallTime steady);

}  // namespace rm
