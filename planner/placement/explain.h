#pragma once

#include <string>
#include <vector>

#include "planner/placement/problem.h"

namespace rm {

// A group of a phase and what holds it up.
struct GroupReport {
    int phase = 0;  // index into the traffic
    std::vector<int> ranks;
    // The flow of the group that takes longest while all groups of the phase communicate, and the
    // resource that it waits for.
    Flow slowest;
    std::string resource;  // link n1 -> n2; "limit of one flow"
    Seconds time;          // without latency
};

// The groups of all phases that move anything, by phase and then the slowest first.
std::vector<GroupReport> explain_placement(const PlacementProblem& problem,
                                           const std::vector<Endpoint>& placement);

}  // namespace rm
