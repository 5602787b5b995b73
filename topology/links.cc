#include "topology/links.h"

#include <cmath>
#include <set>

namespace rm {
namespace {

bool is_amount(double value) {
    return std::isfinite(value) && value >= 0;
}

// `what` is called only on an error: a graph may have a million links.
template <typename What>
Status check_link(const Link& link, What what) {
    if (!(link.bandwidth.value > 0) || !std::isfinite(link.bandwidth.value)) {
        return invalid_argument("{} has a bandwidth of {} Gbit/s; it must be above 0", what(),
                                link.bandwidth.value);
    }
    if (!is_amount(link.flow.value)) {
        return invalid_argument("{} has a flow bandwidth of {} Gbit/s; it must be 0 or more",
                                what(), link.flow.value);
    }
    if (!is_amount(link.latency.value)) {
        return invalid_argument("{} has a latency of {} s; it must be 0 or more", what(),
                                link.latency.value);
    }
    return {};
}

Status check_limit(GbitPerSec limit, std::string_view what, std::string_view of) {
    if (is_amount(limit.value)) return {};
    return invalid_argument("{} of {} is {} Gbit/s; it must be 0 (not a limit) or more", what, of,
                            limit.value);
}

Status check_bridge(const HostBridge& bridge, const NodeInterior& interior, int index,
                    std::set<int>& below) {
    const std::string name = format("host bridge '{}' of interior {}", bridge.name, index);
    RM_RETURN_IF_ERROR(check_limit(bridge.up, "up", name));
    RM_RETURN_IF_ERROR(check_limit(bridge.down, "down", name));
    for (const int device : bridge.devices) {
        if (device < 0 || device >= interior.num_devices) {
            return invalid_argument("{} has a device {}; the interior has {} devices", name, device,
                                    interior.num_devices);
        }
        if (!below.insert(device).second) {
            return invalid_argument("{} has device {}, which is listed twice", name, device);
        }
    }
    return {};
}

Status check_interior(const NodeInterior& interior, int index) {
    if (interior.num_devices < 1) {
        return invalid_argument("interior {} has {} devices; it must have 1 or more", index,
                                interior.num_devices);
    }
    const auto n = usize(interior.num_devices);
    if (interior.pairs.size() != n * n) {
        return invalid_argument("interior {} has {} device pairs; {} devices need {}", index,
                                interior.pairs.size(), n, n * n);
    }
    for (int from = 0; from < interior.num_devices; ++from) {
        for (int to = 0; to < interior.num_devices; ++to) {
            if (from == to) continue;
            RM_RETURN_IF_ERROR(check_link(interior.pair(from, to), [&] {
                return format("link from device {} to {} of interior {}", from, to, index);
            }));
        }
    }
    std::set<int> below;
    for (const HostBridge& bridge : interior.bridges)
        RM_RETURN_IF_ERROR(check_bridge(bridge, interior, index, below));
    return {};
}

Status check_nodes(const LinkGraph& graph) {
    std::set<NodeId> known;
    for (const LinkNode& node : graph.nodes) {
        if (node.id.empty()) return invalid_argument("a node has no id");
        if (!known.insert(node.id).second) {
            return invalid_argument("node {} is listed twice", node.id);
        }
        if (node.interior < 0 || node.interior >= static_cast<int>(graph.interiors.size())) {
            return invalid_argument("node {} has interior {}; there are {}", node.id, node.interior,
                                    graph.interiors.size());
        }
        const std::string name = format("node {}", node.id);
        RM_RETURN_IF_ERROR(check_limit(node.egress, "egress", name));
        RM_RETURN_IF_ERROR(check_limit(node.ingress, "ingress", name));
    }
    return {};
}

Status check_network(const LinkGraph& graph) {
    const std::size_t n = graph.nodes.size();
    if (graph.network.size() != n * n) {
        return invalid_argument("the network has {} links; {} nodes need {}", graph.network.size(),
                                n, n * n);
    }
    for (int from = 0; from < graph.num_nodes(); ++from) {
        for (int to = 0; to < graph.num_nodes(); ++to) {
            if (from == to) continue;
            RM_RETURN_IF_ERROR(check_link(graph.between(from, to), [&] {
                return format("link from node {} to {}", graph.nodes[usize(from)].id,
                              graph.nodes[usize(to)].id);
            }));
        }
    }
    return {};
}

Status check_members(const Trunk& trunk, const std::vector<int>& members, int num_nodes,
                     std::set<int>& seen) {
    for (const int node : members) {
        if (node < 0 || node >= num_nodes) {
            return invalid_argument("trunk '{}' names node number {}; there are {}", trunk.name,
                                    node, num_nodes);
        }
        if (!seen.insert(node).second) {
            return invalid_argument("trunk '{}' names node number {} twice", trunk.name, node);
        }
    }
    return {};
}

Status check_trunk(const Trunk& trunk, int num_nodes) {
    if (!(trunk.bandwidth.value > 0) || !std::isfinite(trunk.bandwidth.value)) {
        return invalid_argument("trunk '{}' has a bandwidth of {} Gbit/s; it must be above 0",
                                trunk.name, trunk.bandwidth.value);
    }
    if (trunk.from.empty() && trunk.to.empty()) {
        return invalid_argument("trunk '{}' joins no nodes; give `from`, `to`, or both",
                                trunk.name);
    }
    std::set<int> seen;
    RM_RETURN_IF_ERROR(check_members(trunk, trunk.from, num_nodes, seen));
    return check_members(trunk, trunk.to, num_nodes, seen);
}

}  // namespace

int LinkGraph::num_devices() const {
    int total = 0;
    for (int node = 0; node < num_nodes(); ++node)
        total += num_devices(node);
    return total;
}

LinkGraph uniform_graph(const std::vector<NodeId>& nodes, int devices_per_node, Link network,
                        Link inside) {
    const auto devices = usize(devices_per_node);
    LinkGraph graph;
    graph.interiors.push_back({devices_per_node, std::vector<Link>(devices * devices, inside), {}});
    for (const NodeId& id : nodes)
        graph.nodes.push_back({id, 0, {}, {}});
    graph.network.assign(nodes.size() * nodes.size(), network);
    return graph;
}

Status validate(const LinkGraph& graph) {
    int index = 0;
    for (const NodeInterior& interior : graph.interiors)
        RM_RETURN_IF_ERROR(check_interior(interior, index++));
    RM_RETURN_IF_ERROR(check_nodes(graph));
    RM_RETURN_IF_ERROR(check_network(graph));
    for (const Trunk& trunk : graph.trunks)
        RM_RETURN_IF_ERROR(check_trunk(trunk, graph.num_nodes()));
    return {};
}

}  // namespace rm
