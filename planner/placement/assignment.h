#pragma once

#include <vector>

#include "planner/placement/tour.h"

namespace rm {

// A successor for each node so that every node is the successor of one and the sum of the edges is
// least, among each node's `most` cheapest edges out and in: the cheapest cover by cycles of any
// length. -1 for nodes that these edges leave without one. Shortest augmenting paths (Jonker and
// Volgenant 1987) on the sparse edges.
std::vector<int> cheapest_successors(const EdgeCosts& costs, int most);

}  // namespace rm
