#pragma once

#include <string>

#include "cli/console.h"
#include "planner/placement/solver.h"

// What `place` has found, for people and for programs. Pure but for the stream; the same for the
// same solution.
namespace rm {

void print_placement(const Output& out, const PlacementProblem& problem, const Solution& solution);
std::string placement_json(const PlacementProblem& problem, const Solution& solution);

}  // namespace rm
