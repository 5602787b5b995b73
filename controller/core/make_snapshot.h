#pragma once

#include <functional>

#include "controller/core/state.h"
#include "planner/snapshot.h"

// Makes the input of a planning pass: first the part from the state, then the links that surveys
// have measured, which the state does not hold.
namespace rm {

// The most pending jobs that a pass looks at.
constexpr std::size_t kMaxPlanned = 1000;
// The blocking reason of further jobs.
Reason behind_reason();

// The pending jobs that a pass looks at, in its order.
std::vector<JobId> planned_jobs(const State& state);
// The devices of all nodes that are not gone, as PlanningSnapshot::devices.
std::vector<PlanningDevice> planning_devices(const State& state);
// All but the links.
PlanningSnapshot planning_snapshot(const State& state, WallTime now);

// Returns the links measured between these nodes, which are in order of registration; empty: none
// is measured.
using MeasuredLinks = std::function<LinkGraph(const std::vector<NodeId>&)>;
// Call it without the state's lock: the graph of many nodes takes long to build.
void add_links(PlanningSnapshot& snapshot, const MeasuredLinks& measured);

}  // namespace rm
