#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/screen/console.h"
#include "planner/placement/solver.h"
#include "ringmaster/v1/job.pb.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/convert/convert.h"
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

// The mesh of an attempt on its nodes: what each axis splits and whether it crosses nodes, then
// each node with its ranks and their coordinates. Many nodes of a large mesh share a line. Nodes of
// `hosts` have their host and address beside them. Prints nothing if ranks and placement do not
// agree. Pure but for the stream.
void draw_mesh(const Output& out, const pb::Attempt& attempt,
               const std::vector<HostOfNode>& hosts = {});

}  // namespace rm
