#pragma once

#include <functional>

#include "controller/core/state.h"
#include "planner/snapshot.h"

// Makes the input of a planning pass: first the part from the state, then the links that surveys
// have measured, which the state does not hold. Checks the output.
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

// The job alone on the cluster, as if nothing else ran and every node were there that may come
// back. Where its files are is not looked at. Without links.
PlanningSnapshot idle_snapshot(const State& state, const JobSpec& spec, WallTime now);

// The same of an attempt's job, with the attempt's plan as `recorded`. The devices of its ranks are
// there even if their nodes are gone.
PlanningSnapshot recorded_snapshot(const State& state, const Attempt& attempt, WallTime now);

// Returns the links measured between these nodes, which are in order of registration; empty: none
// is measured.
using MeasuredLinks = std::function<LinkGraph(const std::vector<NodeId>&)>;
// Call it without the state's lock: the graph of many nodes takes long to build.
void add_links(PlanningSnapshot& snapshot, const MeasuredLinks& measured);

// Checks a plan for a pending job against the current state, whatever its source: the job may start
// now; devices that exist, are free, in service, not excluded and of one kind and build, one per
// rank; the mesh the job asked for; tile and chunk that fit. The error says what is wrong.
Status validate_plan(const State& state, const Job& job, const Plan& plan, WallTime steady);

}  // namespace rm
