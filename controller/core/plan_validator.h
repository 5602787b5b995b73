#pragma once

#include "controller/core/state.h"

namespace rm {

// Judges a plan against the present state, whoever made it: devices that exist, are free and of one
// kind and build, one per rank; the mesh the job asked for; tile and chunk that fit. The error says
// what is wrong.
Status validate_plan(const State& state, const JobSpec& spec, const Plan& plan);

}  // namespace rm
