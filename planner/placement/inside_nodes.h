#pragma once

#include <vector>

#include "planner/placement/problem.h"

namespace rm {

// `placement` with the devices inside nodes in a better order: for each kind of interior the order
// that is fastest on two such nodes alone, with a ring just long enough for them, taken by all
// nodes that hold consecutive ranks on all of their devices. Not evaluated on the whole.
std::vector<Endpoint> order_inside_nodes(const PlacementProblem& problem,
                                         const std::vector<Endpoint>& placement,
                                         std::uint64_t seed);

}  // namespace rm
