#pragma once

#include <string>
#include <string_view>

#include "cli/console.h"
#include "planner/placement/solver.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/convert.h"
#include "topology/placement_report.h"

// Placements for people and for programs. Pure but for the stream; the same for the same report.
namespace rm {

// What a step takes beside both simple orders, the mesh on its nodes, the rings, and what the
// groups wait for. `how` says of the first line where the times are from: proved least. Where
// nothing was predicted, the mesh and the rings alone.
void print_placement(const Output& out, const PlacementReport& report, std::string_view how);

// What `placement` prints of an attempt. The error names what its controller sent wrong.
Status print_attempt_placement(const Output& out, const pb::PlacementReply& reply, WallTime now);

// What `place -o json` prints.
std::string placement_json(const PlacementReport& report, const Solution& solution);

}  // namespace rm
