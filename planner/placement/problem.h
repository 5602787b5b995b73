#pragma once

#include <vector>

#include "topology/placement_cost.h"

namespace rm {

// The problem of assigning a device to each rank. Borrows a valid graph.
struct PlacementProblem {
    const LinkGraph& graph;
    Mesh mesh;
    StepTraffic traffic;
    std::vector<Endpoint> forbidden = {};
    std::vector<Endpoint> preferred = {};  // taken first if this costs no time; empty: all alike
};

// Smaller is better: time, then devices that are not preferred, then bytes on slow links.
struct PlacementScore {
    double time = 0;  // seconds
    int unpreferred = 0;
    std::int64_t link_time = 0;  // of PlacementCost, in units of 2^-40 s so that sums are exact
    auto operator<=>(const PlacementScore&) const = default;
};

}  // namespace rm
