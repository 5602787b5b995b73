#include "planner/placement/graph_devices.h"

#include <set>

namespace rm {

GraphDevices::GraphDevices(const LinkGraph& graph) : graph_(graph) {
    for (int node = 0; node < graph.num_nodes(); ++node)
        node_of_[graph.nodes[usize(node)].id] = node;
}

std::optional<Endpoint> GraphDevices::find(const DeviceId& device) const {
    const auto node = node_of_.find(device.node);
    if (node == node_of_.end()) return std::nullopt;
    const bool is_there = device.index >= 0 && device.index < graph_.num_devices(node->second);
    return is_there ? std::optional(Endpoint{node->second, device.index}) : std::nullopt;
}

DeviceId GraphDevices::id(Endpoint at) const {
    return {graph_.nodes[usize(at.node)].id, at.device};
}

std::vector<Endpoint> GraphDevices::all_but(const std::vector<DeviceId>& devices) const {
    std::set<Endpoint> left_out;
    for (const DeviceId& device : devices) {
        if (const auto at = find(device)) left_out.insert(*at);
    }
    std::vector<Endpoint> others;
    for (int node = 0; node < graph_.num_nodes(); ++node) {
        for (int device = 0; device < graph_.num_devices(node); ++device) {
            if (!left_out.contains({node, device})) others.push_back({node, device});
        }
    }
    return others;
}

}  // namespace rm
