#include "topology/routes.h"

#include <algorithm>
#include <limits>
#include <map>

namespace rm {
namespace {

constexpr double kBytesPerGbit = 1e9 / 8;

double seconds_per_byte_of(GbitPerSec bandwidth) {
    return bandwidth.value > 0 ? 1 / (bandwidth.value * kBytesPerGbit) : 0;
}

// Whether each node is in `members`; an empty list stands for all nodes outside `others`.
std::vector<bool> members_of(const std::vector<int>& members, const std::vector<int>& others,
                             std::size_t num_nodes) {
    std::vector<bool> in(num_nodes, members.empty());
    for (const int node : members.empty() ? others : members)
        in[usize(node)] = !members.empty();
    return in;
}

}  // namespace

Routes::Routes(const LinkGraph& graph) : graph_(graph) {
    for (const LinkNode& node : graph.nodes)
        seconds_per_byte_.push_back(seconds_per_byte_of(node.egress));
    for (const LinkNode& node : graph.nodes)
        seconds_per_byte_.push_back(seconds_per_byte_of(node.ingress));
    add_trunks();
    for (const NodeInterior& interior : graph.interiors) {
        std::vector<int>& below = bridges_of_.emplace_back(usize(interior.num_devices), -1);
        for (std::size_t b = 0; b < interior.bridges.size(); ++b) {
            for (const int device : interior.bridges[b].devices)
                below[usize(device)] = static_cast<int>(b);
        }
    }
    for (int node = 0; node < graph.num_nodes(); ++node)
        add_interior(node);
    network_base_ = num_resources();
    seconds_per_byte_.reserve(seconds_per_byte_.size() + graph.network.size());
    for (const Link& link : graph.network)
        seconds_per_byte_.push_back(seconds_per_byte_of(link.bandwidth));
}

void Routes::add_trunks() {
    const std::size_t n = graph_.nodes.size();
    std::vector<std::vector<bool>> signature(n);
    for (const Trunk& trunk : graph_.trunks) {
        const std::vector<bool> from = members_of(trunk.from, trunk.to, n);
        const std::vector<bool> to = members_of(trunk.to, trunk.from, n);
        for (std::size_t node = 0; node < n; ++node) {
            signature[node].push_back(from[node]);
            signature[node].push_back(to[node]);
        }
    }
    std::map<std::vector<bool>, int> zones;
    for (std::size_t node = 0; node < n; ++node) {
        const auto zone = zones.emplace(signature[node], static_cast<int>(zones.size())).first;
        zone_of_.push_back(zone->second);
    }
    num_zones_ = static_cast<int>(zones.size());
    trunks_between_.resize(zones.size() * zones.size());
    for (std::size_t t = 0; t < graph_.trunks.size(); ++t) {
        const int resource = num_resources();
        seconds_per_byte_.push_back(seconds_per_byte_of(graph_.trunks[t].bandwidth));
        for (const auto& [sender, a] : zones) {
            for (const auto& [receiver, b] : zones) {
                if (!sender[2 * t] || !receiver[2 * t + 1]) continue;
                trunks_between_[usize(a * num_zones_ + b)].push_back(resource);
            }
        }
    }
}

void Routes::add_interior(int node) {
    interior_base_.push_back(num_resources());
    const NodeInterior& interior = graph_.interior_of(node);
    for (const Link& link : interior.pairs)
        seconds_per_byte_.push_back(seconds_per_byte_of(link.bandwidth));
    for (const HostBridge& bridge : interior.bridges) {
        seconds_per_byte_.push_back(seconds_per_byte_of(bridge.up));
        seconds_per_byte_.push_back(seconds_per_byte_of(bridge.down));
    }
}

void Routes::use(Route& route, int resource) const {
    if (seconds_per_byte(resource) > 0) route.fixed[route.num_fixed++] = resource;
}

int Routes::bridge_of(Endpoint at) const {
    const auto interior = usize(graph_.nodes[usize(at.node)].interior);
    return bridges_of_[interior][usize(at.device)];
}

void Routes::use_bridge(Route& route, Endpoint at, Part part) const {
    const int bridge = bridge_of(at);
    if (bridge < 0) return;
    const int devices = graph_.num_devices(at.node);
    use(route, interior_base_[usize(at.node)] + devices * devices + 2 * bridge +
                   (part == Part::down ? 1 : 0));
}

Route Routes::route(Endpoint from, Endpoint to) const {
    Route route;
    route.flow = std::numeric_limits<double>::infinity();
    if (from == to) return route;
    const bool inside = from.node == to.node;
    const Link& link = inside ? graph_.interior_of(from.node).pair(from.device, to.device)
                              : graph_.between(from.node, to.node);
    if (link.flow.value > 0) route.flow = link.flow.value * kBytesPerGbit;
    route.latency = link.latency.value;
    if (inside) {
        use(route, interior_base_[usize(from.node)] + from.device * graph_.num_devices(from.node) +
                       to.device);
        if (bridge_of(from) == bridge_of(to)) return route;
    } else {
        const int n = graph_.num_nodes();
        use(route, from.node);
        use(route, n + to.node);
        use(route, network_base_ + from.node * n + to.node);
        route.trunks = trunks_between_[usize(zone_of_[usize(from.node)] * num_zones_ +
                                             zone_of_[usize(to.node)])];
    }
    use_bridge(route, from, Part::up);
    use_bridge(route, to, Part::down);
    return route;
}

double Routes::alone(const Route& route) const {
    double slowest = 1 / route.flow;
    route.for_each([&](int r) { slowest = std::max(slowest, seconds_per_byte(r)); });
    return 1 / slowest;
}

std::string Routes::interior_name(int node, int offset) const {
    const NodeInterior& interior = graph_.interior_of(node);
    const NodeId& id = graph_.nodes[usize(node)].id;
    const int pairs = interior.num_devices * interior.num_devices;
    if (offset < pairs) {
        return format("link {}:{} -> {}:{}", id, offset / interior.num_devices, id,
                      offset % interior.num_devices);
    }
    const int bridge = (offset - pairs) / 2;
    return format("host bridge {} of {}, {}", interior.bridges[usize(bridge)].name, id,
                  (offset - pairs) % 2 == 0 ? "up" : "down");
}

std::string Routes::name(int resource) const {
    const int n = graph_.num_nodes();
    const auto id = [&](int node) { return graph_.nodes[usize(node)].id; };
    if (resource < n) return format("egress of {}", id(resource));
    if (resource < 2 * n) return format("ingress of {}", id(resource - n));
    const int trunk = resource - 2 * n;
    if (trunk < static_cast<int>(graph_.trunks.size())) {
        return format("trunk {}", graph_.trunks[usize(trunk)].name);
    }
    if (resource >= network_base_) {
        const int pair = resource - network_base_;
        return format("link {} -> {}", id(pair / n), id(pair % n));
    }
    const auto above = std::upper_bound(interior_base_.begin(), interior_base_.end(), resource);
    const int node = static_cast<int>(above - interior_base_.begin()) - 1;
    return interior_name(node, resource - interior_base_[usize(node)]);
}

}  // namespace rm
