#pragma once

#include "planner/placement/devices.h"

namespace rm {

// Placements worth starting from, the same for the same problem: nodes in orders whose rings are
// short (find_cycles) for each length of ring that the mesh has, filled with consecutive ranks.
std::vector<std::vector<Endpoint>> construct_placements(const PlacementProblem& problem,
                                                        const Routes& routes,
                                                        const DeviceTable& devices);

// `placement` with the devices inside nodes in a better order: for each kind of interior the order
// that is fastest on two such nodes alone, with a ring just long enough for them, taken by all
// nodes that hold consecutive ranks on all of their devices. Not evaluated on the whole.
std::vector<Endpoint> order_inside_nodes(const PlacementProblem& problem,
                                         const std::vector<Endpoint>& placement,
                                         std::uint64_t seed);

}  // namespace rm
