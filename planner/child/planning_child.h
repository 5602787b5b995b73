#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/units.h"
#include "planner/plan_jobs.h"
#include "planner/snapshot.h"

// Planning in a separate process: whatever a job makes the planner do, the controller survives.
namespace rm {

struct PlanningLimits {
    Seconds timeout{30};
    Bytes memory{2LL << 30};  // of the child's address space
};

// `ringmaster-controller kPlanVerb BYTES` is the other end.
constexpr const char* kPlanVerb = "__plan";

// The other end: reads a snapshot from stdin, plans, writes the decisions to stdout. The exit code;
// words on stderr where it is not 0.
int run_planning_child(Bytes memory);

// Runs `command` with a limit of memory as its last word, gives it the snapshot and takes its
// decisions, one per pending job. A child that crashes, is too slow or answers nonsense is an error
// that says which; it has ended when this returns.
Result<std::vector<PlanDecision>> plan_in_child(const std::vector<std::string>& command,
                                                const PlanningSnapshot& snapshot,
                                                const PlanningLimits& limits = {});

// Plans in children that `command` starts, or in this process where it is empty (tests). Throws if
// a child fails.
Planner make_planner(std::vector<std::string> command);

}  // namespace rm
