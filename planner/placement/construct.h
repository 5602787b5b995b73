#pragma once

#include "planner/placement/devices.h"

namespace rm {

// Placements worth starting from, the same for the same problem: nodes in orders whose rings are
// short (find_cycles) for each length of ring that the mesh has, filled with consecutive ranks.
std::vector<std::vector<Endpoint>> construct_placements(const PlacementProblem& problem,
                                                        const Routes& routes,
                                                        const DeviceTable& devices);

}  // namespace rm
