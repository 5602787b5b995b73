#pragma once

#include "planner/placement/tour.h"

namespace rm {

// Cycles to begin with: edges in order of their cost, as far as they make paths of at most `length`
// nodes and cycles of exactly that; what is left is joined and packed. First come the cheapest
// edges of each node, or those of the cheapest cover by cycles of any length (assignment.h).
enum class FirstEdges { nearest, cover };
std::vector<int> greedy_cycles(const EdgeCosts& costs, int num_cycles, int length,
                               FirstEdges first);

// The cheapest edges out of each node, cheapest first; of equal ones those to the next by number.
std::vector<std::vector<int>> nearest_of(const EdgeCosts& costs, int most);

}  // namespace rm
