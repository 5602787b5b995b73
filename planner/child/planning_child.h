#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "planner/child/plan_detail.h"
#include "planner/plan_jobs.h"
#include "planner/snapshot.h"

// Plans in a separate process: the controller survives any failure of the planner.
namespace rm {

struct PlanningLimits {
    Seconds timeout{30};
    Bytes memory{2LL << 30};  // of the child's address space
};

// `ringmaster-controller kPlanVerb BYTES` is the other end.
constexpr const char* kPlanVerb = "__plan";

// The child's end: reads a snapshot from stdin, plans, writes the decisions to stdout, or the
// detail of the plan that the snapshot has. Returns the exit code; a nonzero one comes with an
// error on stderr.
int run_planning_child(Bytes memory);

// Runs `command` with its memory limit as the last argument, sends it the snapshot and reads its
// decisions, one per pending job. Fails if the child crashes, takes too long or sends an invalid
// reply, and names the cause. The child has ended when this returns.
Result<std::vector<PlanDecision>> plan_in_child(const std::vector<std::string>& command,
                                                const PlanningSnapshot& snapshot,
                                                const PlanningLimits& limits = {});

// Plans in children that `command` starts, or in this process if it is empty (tests). Where a
// search takes longer or more memory than a child may, another child plans without one, so that no
// job of a pass waits for the search of another. Throws if a child fails.
Planner make_planner(std::vector<std::string> command, PlanningLimits limits = {});

// The detail of a snapshot's `recorded` plan, as the message that a child sends.
using PlanDetailer = std::function<Result<ringmaster::v1::PlanningDetail>(const PlanningSnapshot&)>;

// Likewise in children, or in this process. Where the search takes longer or more memory than a
// child may, another child leaves the other meshes out. Errors: a child fails.
PlanDetailer make_detailer(std::vector<std::string> command, PlanningLimits limits = {});

}  // namespace rm
