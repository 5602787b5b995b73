#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "planner/plan_shape.h"
#include "planner/snapshot.h"
#include "spec/plan.h"

// Plans the pending jobs of a snapshot, deterministically.
//  * Order: as the snapshot lists them, priority and then age. A job that could run on this cluster
//    but not now lets later ones pass, whatever their priority, until it has waited max_bypass;
//    then the free devices of the kind that is nearest to holding it are kept for it.
//  * A job that names its devices (`resources.placement`) runs on these, in its order; when it has
//    waited max_bypass they are kept for it.
//  * A job's excluded devices, drained nodes and nodes that are missing (Availability) are as if
//    they were not there.
//  * Devices: with `parallel: auto` a job takes `resources.devices`, or else as many free devices
//  of
//    one kind as possible.
//  * Mesh, ZeRO stage and memory: see planner/plan_shape.h.
//  * Placement: ranks in mesh order on free devices of one kind and build: where the snapshot's
//    links say that communication takes least (planner/placement/link_placer.h), or else in order
//    of registration, where `tensor`, the innermost axis, crosses nodes last.
//  * Network: as given; `auto` is NCCL for ranks on GPUs whose nodes have it, gloo otherwise.
namespace rm {

struct PlanDecision {
    JobId job;
    std::variant<Plan, Reasons> decision;  // the reasons are never empty
};

// One decision per pending job; plans do not overlap.
std::vector<PlanDecision> plan_jobs_with(const PlanningSnapshot& snapshot,
                                         const ShapeChooser& choose);
// The same with shape_by_rule().
std::vector<PlanDecision> plan_jobs(const PlanningSnapshot& snapshot);

// plan_jobs(), in this process or in a child.
using Planner = std::function<std::vector<PlanDecision>(const PlanningSnapshot&)>;

}  // namespace rm
