#pragma once

#include <vector>

#include "planner/placement/graph_devices.h"
#include "spec/job_spec.h"

namespace rm {

// Places the ranks of one pass's jobs on free devices: where measured links say that a step's
// communication takes least (planner/placement/solver.h), with the bytes of the stage with the
// longest context by the formulas of docs/communication.md. A model that is no preset counts as
// llama3-8b, as only proportions matter. Deterministic. Borrows the graph, which may be empty.
class LinkPlacer {
public:
    explicit LinkPlacer(const LinkGraph& graph) : graph_(graph), devices_(graph) {}

    // By rank. `free` is by registration, and that is the order of jobs of one rank, where too few
    // of them are measured, and beyond kMostSolved jobs.
    std::vector<DeviceId> place(const JobSpec& spec, const Mesh& mesh, std::vector<DeviceId> free);

private:
    const LinkGraph& graph_;
    const GraphDevices devices_;
    int num_solved_ = 0;
};

constexpr int kMostSolved = 16;

}  // namespace rm
