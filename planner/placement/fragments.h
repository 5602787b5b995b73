#pragma once

#include "planner/placement/tour.h"

namespace rm {

// The greedy part of find_cycles(): cheapest edges first, as far as they make paths of at most
// `length` nodes and cycles of exactly that; then the paths are packed into cycles.
std::vector<int> greedy_cycles(const EdgeCosts& costs, int num_cycles, int length);

// The cheapest edges out of each node, cheapest first; of equal ones those to the next by number.
std::vector<std::vector<int>> nearest_of(const EdgeCosts& costs, int most);

}  // namespace rm
