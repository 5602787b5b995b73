#include <algorithm>

#include "controller/ops/ops.h"
#include "service/convert.h"

namespace rm {
namespace {

struct KnownNode {
    NodeId id;
    std::string hostname;
};

std::vector<KnownNode> nodes_in_order(const State& state) {
    std::vector<const Node*> order;
    for (const auto& [id, node] : state.nodes)
        order.push_back(&node);
    std::sort(order.begin(), order.end(),
              [](const Node* a, const Node* b) { return a->number < b->number; });
    std::vector<KnownNode> nodes;
    for (const Node* node : order)
        nodes.push_back({node->id, node->inventory.hostname});
    return nodes;
}

int group_of(const LinkBook& book, const NodeId& node) {
    for (std::size_t group = 0; group < book.groups.size(); ++group) {
        const auto& members = book.groups[group].nodes;
        if (std::find(members.begin(), members.end(), node) != members.end())
            return static_cast<int>(group);
    }
    return 0;
}

void fill(pb::SurveyedNode& out, const SurveyedNode& node) {
    out.set_egress(node.egress.value);
    out.set_ingress(node.ingress.value);
    out.set_devices(node.num_devices);
    for (const InsideSample& sample : node.inside) {
        pb::DeviceLink& link = *out.add_inside();
        link.set_from(sample.from);
        link.set_to(sample.to);
        link.set_bandwidth(sample.rate.value);
        link.set_latency(sample.latency.value);
    }
}

void fill(pb::NodeLink& out, const LinkState& state) {
    out.set_jitter(state.jitter.value);
    out.set_loss(state.loss);
    *out.mutable_measured() = to_proto(state.measured);
    out.set_alone(state.alone);
    out.set_baseline(state.baseline.value);
    if (state.degraded) *out.mutable_degraded() = to_proto(*state.degraded);
}

void fill(pb::SharedCable& out, const Trunk& trunk, const LinkGraph& graph) {
    out.set_name(trunk.name);
    out.set_bandwidth(trunk.bandwidth.value);
    for (const int node : trunk.from)
        out.add_from(graph.nodes[static_cast<std::size_t>(node)].id.value);
    for (const int node : trunk.to)
        out.add_to(graph.nodes[static_cast<std::size_t>(node)].id.value);
}

void fill(pb::SurveyState& out, const SurveyView& view) {
    out.set_running(view.progress.running);
    out.set_last(view.progress.last);
    out.set_pending(view.progress.pending);
    out.set_steps_done(static_cast<std::int64_t>(view.progress.steps_done));
    out.set_steps_known(static_cast<std::int64_t>(view.progress.steps_known));
    out.set_waits_for_budget(view.progress.waits_for_budget);
    if (!view.last) return;
    out.set_nodes(view.last->num_nodes);
    out.set_measured_links(view.last->num_links);
    out.set_failed_probes(view.last->num_failed);
    out.set_seconds((view.last->ended - view.last->started).value);
    for (const std::string& error : view.last->errors)
        out.add_errors(error);
}

}  // namespace

Result<pb::LinksReply> list_links(OpsContext& context, const SurveyLoop& surveys) {
    const std::vector<KnownNode> known =
        context.control.read([](const State& state) { return nodes_in_order(state); });
    const SurveyView view = surveys.view();
    std::vector<NodeId> ids;
    for (const KnownNode& node : known)
        ids.push_back(node.id);
    const LinkGraph graph = view.book.graph(ids);
    pb::LinksReply reply;
    for (const LinkNode& node : graph.nodes) {
        const auto entry = std::find_if(known.begin(), known.end(),
                                        [&](const KnownNode& k) { return k.id == node.id; });
        pb::SurveyedNode& out = *reply.add_nodes();
        out.set_id(node.id.value);
        out.set_hostname(entry->hostname);
        out.set_group(group_of(view.book, node.id));
        fill(out, view.book.nodes.at(node.id));
    }
    for (int from = 0; from < graph.num_nodes(); ++from) {
        for (int to = 0; to < graph.num_nodes(); ++to) {
            if (from == to) continue;
            const Link& link = graph.between(from, to);
            const LinkEnds ends{graph.nodes[static_cast<std::size_t>(from)].id,
                                graph.nodes[static_cast<std::size_t>(to)].id};
            pb::NodeLink& out = *reply.add_links();
            out.set_from(ends.first.value);
            out.set_to(ends.second.value);
            out.set_bandwidth(link.bandwidth.value);
            out.set_flow(link.flow.value);
            out.set_latency(link.latency.value);
            const auto measured = view.book.links.find(ends);
            if (measured != view.book.links.end()) fill(out, measured->second);
        }
    }
    for (const Trunk& trunk : graph.trunks)
        fill(*reply.add_cables(), trunk, graph);
    fill(*reply.mutable_survey(), view);
    return reply;
}

}  // namespace rm
