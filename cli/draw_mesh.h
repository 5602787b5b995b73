#pragma once

#include <vector>

#include "cli/console.h"
#include "ringmaster/v1/job.pb.h"
#include "service/convert.h"
#include "topology/placement_report.h"

namespace rm {

// The mesh of an attempt on its nodes: what each axis splits and whether it crosses nodes, then
// each node with its ranks and their coordinates. Many nodes of a large mesh share a line. Nodes of
// `hosts` have their host and address beside them. Prints nothing if ranks and placement do not
// agree. Pure but for the stream.
void draw_mesh(const Output& out, const pb::Attempt& attempt,
               const std::vector<HostOfNode>& hosts = {});

}  // namespace rm
