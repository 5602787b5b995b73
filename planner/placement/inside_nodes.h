#pragma once

#include "planner/placement/evaluator.h"

namespace rm {

// Puts the ranks of one node on its devices in the order in which they crowd each other least, and
// those of all nodes like it in the same, if that makes the step faster. Uses at most `budget`
// evaluations; returns how many.
std::int64_t order_inside_nodes(const PlacementProblem& problem, Evaluator& evaluator,
                                std::uint64_t seed, std::int64_t budget);

}  // namespace rm
