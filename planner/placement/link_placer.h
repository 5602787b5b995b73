#pragma once

#include <vector>

#include "planner/placement/graph_devices.h"
#include "spec/job_spec.h"

namespace rm {

// Places the ranks of one pass's jobs on the free devices where a step's communication takes least
// by the measured links (planner/placement/solver.h), with the bytes of the stage with the longest
// context by the formulas of docs/communication.md. A model that is not a preset counts as
// llama3-8b, as only proportions matter. Deterministic. Borrows the graph, which may be empty.
class LinkPlacer {
public:
    explicit LinkPlacer(const LinkGraph& graph) : graph_(graph), devices_(graph) {}

    // By rank. Keeps `free`'s order, that of registration, for jobs of one rank, if too few devices
    // are measured, and beyond kMostSolved jobs.
    std::vector<DeviceId> place(const JobSpec& spec, const Mesh& mesh, std::vector<DeviceId> free);

private:
    const LinkGraph& graph_;
    const GraphDevices devices_;
    int num_solved_ = 0;
};

constexpr int kMostSolved = 16;

}  // namespace rm
