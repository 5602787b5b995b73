#include "planner/child/link_messages.h"

namespace rm {
namespace {

void fill(pb::LinkMatrix& out, const std::vector<Link>& links) {
    for (const Link& link : links) {
        out.add_gbit_per_s(link.bandwidth.value);
        out.add_flow_gbit_per_s(link.flow.value);
        out.add_latency_seconds(link.latency.value);
    }
}

// As long as the shortest list; validate() finds what is missing.
std::vector<Link> links_of(const pb::LinkMatrix& matrix) {
    const int count = std::min(
        {matrix.gbit_per_s_size(), matrix.flow_gbit_per_s_size(), matrix.latency_seconds_size()});
    std::vector<Link> links;
    links.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        links.push_back(
            {{matrix.gbit_per_s(i)}, {matrix.flow_gbit_per_s(i)}, {matrix.latency_seconds(i)}});
    }
    return links;
}

void fill(pb::LinkInterior& out, const NodeInterior& interior) {
    out.set_num_devices(interior.num_devices);
    fill(*out.mutable_pairs(), interior.pairs);
    for (const HostBridge& bridge : interior.bridges) {
        pb::LinkBridge& message = *out.add_bridges();
        message.set_name(bridge.name);
        message.mutable_devices()->Assign(bridge.devices.begin(), bridge.devices.end());
        message.set_up_gbit_per_s(bridge.up.value);
        message.set_down_gbit_per_s(bridge.down.value);
    }
}

NodeInterior interior_of(const pb::LinkInterior& message) {
    NodeInterior interior{message.num_devices(), links_of(message.pairs()), {}};
    for (const pb::LinkBridge& bridge : message.bridges()) {
        interior.bridges.push_back({bridge.name(),
                                    {bridge.devices().begin(), bridge.devices().end()},
                                    {bridge.up_gbit_per_s()},
                                    {bridge.down_gbit_per_s()}});
    }
    return interior;
}

}  // namespace

void fill(pb::PlanningLinks& out, const LinkGraph& graph) {
    for (const NodeInterior& interior : graph.interiors)
        fill(*out.add_interiors(), interior);
    for (const LinkNode& node : graph.nodes) {
        pb::LinkNode& message = *out.add_nodes();
        message.set_node_id(node.id.value);
        message.set_interior(node.interior);
        message.set_egress_gbit_per_s(node.egress.value);
        message.set_ingress_gbit_per_s(node.ingress.value);
    }
    fill(*out.mutable_network(), graph.network);
    for (const Trunk& trunk : graph.trunks) {
        pb::LinkTrunk& message = *out.add_trunks();
        message.set_name(trunk.name);
        message.mutable_from()->Assign(trunk.from.begin(), trunk.from.end());
        message.mutable_to()->Assign(trunk.to.begin(), trunk.to.end());
        message.set_gbit_per_s(trunk.bandwidth.value);
    }
}

Result<LinkGraph> links_from(const pb::PlanningLinks& links) {
    LinkGraph graph;
    for (const pb::LinkInterior& interior : links.interiors())
        graph.interiors.push_back(interior_of(interior));
    for (const pb::LinkNode& node : links.nodes()) {
        graph.nodes.push_back({{node.node_id()},
                               node.interior(),
                               {node.egress_gbit_per_s()},
                               {node.ingress_gbit_per_s()}});
    }
    graph.network = links_of(links.network());
    for (const pb::LinkTrunk& trunk : links.trunks()) {
        graph.trunks.push_back({trunk.name(),
                                {trunk.from().begin(), trunk.from().end()},
                                {trunk.to().begin(), trunk.to().end()},
                                {trunk.gbit_per_s()}});
    }
    const Status valid = validate(graph);
    if (!valid) {
        return make_error(ErrorCode::data_loss, "links of a planning request: {}",
                          valid.error().message);
    }
    return graph;
}

}  // namespace rm
