#pragma once

#include <vector>

#include "planner/placement/tour.h"

namespace rm {

// Cycles of `length` nodes one behind the other and each turned, so that the ways between them are
// short: the ring of gradients leaves a cycle at the node before the one that it came in by. A beam
// search over all nodes to begin at.
std::vector<int> chain_cycles(const EdgeCosts& costs, const std::vector<int>& nodes, int length);

}  // namespace rm
