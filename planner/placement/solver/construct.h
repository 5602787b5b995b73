#pragma once

#include "planner/placement/devices.h"

namespace rm {

// Starting placements for the search, deterministic: for each ring length of the mesh, orders the
// nodes in short rings (find_cycles) and fills them with consecutive ranks.
std::vector<std::vector<Endpoint>> construct_placements(const PlacementProblem& problem,
                                                        const Routes& routes,
                                                        const DeviceTable& devices);

// Reorders the devices inside nodes: for each kind of interior, finds the order that is fastest on
// two such nodes alone, with a ring just long enough for them, and applies it to all nodes that
// hold consecutive ranks on all of their devices. Does not evaluate the whole placement.
std::vector<Endpoint> order_inside_nodes(const PlacementProblem& problem,
                                         const std::vector<Endpoint>& placement,
                                         std::uint64_t seed);

}  // namespace rm
