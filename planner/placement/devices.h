#pragma once

#include <string_view>
#include <vector>

#include "planner/placement/problem.h"

namespace rm {

// The devices of a problem that may be used, and which rank is on each.
class DeviceTable {
public:
    explicit DeviceTable(const PlacementProblem& problem);

    // By registration.
    const std::vector<Endpoint>& usable() const { return usable_; }
    const std::vector<Endpoint>& usable_of(int node) const { return by_node_[usize(node)]; }
    int num_nodes() const { return static_cast<int>(by_node_.size()); }

private:
    std::vector<Endpoint> usable_;
    std::vector<std::vector<Endpoint>> by_node_;
};

// Nodes in an order, their usable devices one after the other: rank i on the i-th. With `unit`
// above 1, nodes first give as many devices as whole units of ranks fill, so that no unit crosses
// nodes before all others are placed.
std::vector<Endpoint> fill(const DeviceTable& devices, const std::vector<int>& nodes, int num_ranks,
                           int unit);

// Names with numbers by the value of those: n2 before n10.
bool name_before(std::string_view a, std::string_view b);

}  // namespace rm
