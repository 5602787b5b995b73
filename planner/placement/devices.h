#pragma once

#include <string_view>
#include <vector>

#include "planner/placement/problem.h"

namespace rm {

// The usable devices of a problem.
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

// Fills usable devices with ranks in order, node by node. With `unit` above 1, each node first
// takes only whole units of ranks, so that units cross nodes only on the devices left over.
std::vector<Endpoint> fill(const DeviceTable& devices, const std::vector<int>& nodes, int num_ranks,
                           int unit);

// Compares names with their numbers by value: n2 before n10.
bool name_before(std::string_view a, std::string_view b);

}  // namespace rm
