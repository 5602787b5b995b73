#pragma once

#include "cli/screen/console.h"
#include "ringmaster/v1/job.pb.h"

namespace rm {

namespace pb = ringmaster::v1;

// The plan that a controller makes for a job: mesh, devices, memory, and what a step takes; or why
// there is none.
void print_cluster_plan(const Output& out, const pb::PlanReply& reply);

}  // namespace rm
