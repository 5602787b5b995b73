#pragma once

#include <string>
#include <string_view>

#include "cli/console.h"
#include "planner/placement/solver.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/convert.h"
#include "topology/placement_report.h"

// Placements for users and for programs. Pure but for the stream; the same for the same report.
namespace rm {

// The time of a step compared with both simple orders, the mesh on its nodes, the rings, and the
// groups' waits. `how` is added to the first line and says where the times are from: proved least.
// Without a prediction, prints the mesh and the rings alone.
void print_placement(const Output& out, const PlacementReport& report, std::string_view how);

// Prints the output of `placement` for an attempt. The error names the controller's invalid data.
Status print_attempt_placement(const Output& out, const pb::PlacementReply& reply, WallTime now);

// The output of `place -o json`.
std::string placement_json(const PlacementReport& report, const Solution& solution);

}  // namespace rm
