#pragma once

#include "base/result.h"
#include "cli/screen/console.h"
#include "ringmaster/v1/job.pb.h"

namespace rm {

namespace pb = ringmaster::v1;

// The plan that a controller makes for a job: mesh, devices, memory, and what a step takes; or why
// there is none.
void print_cluster_plan(const Output& out, const pb::PlanReply& reply);

// The plan of an attempt: a step of it, and the meshes of the job by their times.
void print_plan_detail(const Output& out, const pb::PlanDetailReply& reply);

// The plan for a job that is about to be submitted; one line says why there is no plan yet. An
// error is what Submit would refuse the job for.
Status print_plan_to_submit(const Output& out, const Result<pb::PlanReply>& plan);

}  // namespace rm
