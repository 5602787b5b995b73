#pragma once

#include <vector>

#include "planner/placement/problem.h"
#include "topology/placement_report.h"

namespace rm {

// The groups of all phases that move anything, by phase and then the slowest first.
std::vector<GroupReport> explain_placement(const PlacementProblem& problem,
                                           const std::vector<Endpoint>& placement);

// Compares the cost of `placement` with both simple orders on the devices that the problem allows.
// Ranks are those of check_placement(). The caller adds the ZeRO stage, hosts and degraded links.
PlacementReport report_placement(const PlacementProblem& problem,
                                 const std::vector<Endpoint>& placement);

}  // namespace rm
