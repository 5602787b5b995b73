#include "controller/survey/link_book.h"

#include <algorithm>
#include <set>

#include "base/median.h"
#include "base/text.h"

namespace rm {
namespace {

double at(const std::vector<std::vector<double>>& matrix, NodePair pair) {
    return matrix[usize(pair.first)][usize(pair.second)];
}

// Good surveys move the baseline; the first one sets it.
void note_good(LinkState& link) {
    link.good.push_back(link.bandwidth.value);
    if (link.good.size() > LinkBook::kBaselineSurveys) link.good.erase(link.good.begin());
    link.baseline = {median(link.good)};
}

std::optional<LinkDrift> judge(const LinkEnds& ends, LinkState& link, WallTime now) {
    const double baseline = link.baseline.value;
    const bool was_degraded = link.degraded.has_value();
    const double limit = was_degraded ? LinkBook::kRestored : LinkBook::kDegraded;
    const bool is_degraded = baseline > 0 && link.bandwidth.value < limit * baseline;
    if (!is_degraded) note_good(link);
    if (is_degraded == was_degraded) return std::nullopt;
    link.degraded = is_degraded ? std::optional(now) : std::nullopt;
    return LinkDrift{ends, {baseline}, link.bandwidth, is_degraded};
}

std::vector<LinkGroup> groups_of(const SurveyRun& run, const InferredNetwork& network) {
    std::vector<LinkGroup> groups(network.uplinks.size());
    for (std::size_t node = 0; node < run.nodes().size(); ++node)
        groups[usize(network.group[node])].nodes.push_back(run.nodes()[node].id);
    for (std::size_t group = 0; group < groups.size(); ++group) {
        groups[group].up = {network.uplinks[group].up};
        groups[group].down = {network.uplinks[group].down};
    }
    return groups;
}

Seconds slowest(const LinkBook& book) {
    Seconds latency;
    for (const auto& [key, link] : book.links)
        latency = std::max(latency, link.latency);
    return latency;
}

NodeInterior interior_of(const SurveyedNode& node) {
    const auto size = usize(node.num_devices);
    // Where nothing was measured, assume that memory does not limit.
    const Link unmeasured{.bandwidth = {1000}, .flow = {}, .latency = {}};
    NodeInterior interior{.num_devices = node.num_devices,
                          .pairs = std::vector<Link>(size * size, unmeasured),
                          .bridges = {}};
    // The samples may date from when the node had more devices.
    const auto is_device = [&](int end) { return end >= 0 && end < node.num_devices; };
    for (const InsideSample& sample : node.inside) {
        if (!is_device(sample.from) || !is_device(sample.to)) continue;
        const auto place = usize(sample.from) * size + usize(sample.to);
        interior.pairs.at(place) = {sample.rate, {}, sample.latency};
    }
    std::set<int> below;
    for (const BridgeSample& bridge : node.bridges) {
        const bool is_known =
            std::all_of(bridge.devices.begin(), bridge.devices.end(),
                        [&](int device) { return is_device(device) && !below.contains(device); });
        if (!is_known) continue;
        below.insert(bridge.devices.begin(), bridge.devices.end());
        interior.bridges.push_back({bridge.name, bridge.devices, bridge.up, bridge.down});
    }
    return interior;
}

void take_inside(SurveyedNode& node, const ProbeReport& report) {
    node.inside = report.inside;
    node.bridges = report.bridges;
}

// The indices of the group's nodes that are in the graph.
std::vector<int> members(const LinkGroup& group, const LinkGraph& graph) {
    std::vector<int> found;
    for (int node = 0; node < graph.num_nodes(); ++node) {
        const NodeId& id = graph.nodes[usize(node)].id;
        if (std::find(group.nodes.begin(), group.nodes.end(), id) != group.nodes.end())
            found.push_back(node);
    }
    return found;
}

std::string name_of(const LinkGraph& graph, const std::vector<int>& group) {
    std::vector<NodeId> ids;
    for (const int node : group)
        ids.push_back(graph.nodes[usize(node)].id);
    return join(ids, ",");
}

// `latency` caches slowest(book), which is computed when it is first needed.
std::vector<Link> row_of(const LinkBook& book, const LinkGraph& graph, int from,
                         std::optional<Seconds>& latency) {
    const NodeId& sender = graph.nodes[usize(from)].id;
    const GbitPerSec egress = book.nodes.at(sender).egress;
    std::vector<Link> row;
    for (const LinkNode& to : graph.nodes) {
        const auto known = book.links.find({sender, to.id});
        if (known != book.links.end() && known->second.bandwidth.value > 0) {
            row.push_back({known->second.bandwidth, known->second.flow, known->second.latency});
            continue;
        }
        if (!latency) latency = slowest(book);
        row.push_back({std::min(egress, to.ingress), {}, *latency});
    }
    return row;
}

void add_trunk(LinkGraph& graph, Trunk trunk) {
    if (trunk.bandwidth.value > 0) graph.trunks.push_back(std::move(trunk));
}

GbitPerSec lower(GbitPerSec a, GbitPerSec b) {
    if (a.value == 0 || b.value == 0) return std::max(a, b);
    return std::min(a, b);
}

// Two groups share one cable; more of them have an uplink each.
void add_trunks(LinkGraph& graph, const std::vector<LinkGroup>& groups) {
    std::vector<std::pair<std::vector<int>, LinkGroup>> present;
    for (const LinkGroup& group : groups) {
        std::vector<int> nodes = members(group, graph);
        if (!nodes.empty()) present.emplace_back(std::move(nodes), group);
    }
    if (present.size() < 2) return;
    if (present.size() == 2) {
        const auto& [a, first] = present[0];
        const auto& [b, second] = present[1];
        add_trunk(graph, {format("{} to {}", name_of(graph, a), name_of(graph, b)), a, b,
                          lower(first.up, second.down)});
        add_trunk(graph, {format("{} to {}", name_of(graph, b), name_of(graph, a)), b, a,
                          lower(second.up, first.down)});
        return;
    }
    for (const auto& [nodes, group] : present) {
        add_trunk(graph, {format("{} up", name_of(graph, nodes)), nodes, {}, group.up});
        add_trunk(graph, {format("{} down", name_of(graph, nodes)), {}, nodes, group.down});
    }
}

}  // namespace

bool LinkBook::is_suspect(const NodeId& from, const NodeId& to, GbitPerSec rate) const {
    const auto known = links.find({from, to});
    if (known == links.end() || known->second.baseline.value <= 0) return false;
    const double limit = known->second.degraded ? kRestored : kDegraded;
    const bool is_low = rate.value < limit * known->second.baseline.value;
    return is_low != known->second.degraded.has_value();
}

std::vector<LinkDrift> LinkBook::apply(const SurveyRun& run, WallTime now) {
    const InferredNetwork best = run.for_the_best();
    const InferredNetwork one_flow = run.for_one_flow();
    std::vector<LinkDrift> drifts;
    for (const auto& [pair, report] : run.links()) {
        const LinkEnds ends{run.nodes()[usize(pair.first)].id, run.nodes()[usize(pair.second)].id};
        LinkState& link = links[ends];
        link.bandwidth = {at(best.rate, pair)};
        link.flow = {std::min(at(one_flow.rate, pair), link.bandwidth.value)};
        link.latency = report.latency;
        link.jitter = report.jitter;
        link.loss = report.samples.back().loss;
        link.measured = now;
        link.alone = run.ran_alone(pair);
        // Slow copies of memory on a busy machine raise no alarm.
        if (!run.is_network()) continue;
        if (const auto drift = judge(ends, link, now)) drifts.push_back(*drift);
    }
    for (std::size_t node = 0; node < run.nodes().size(); ++node) {
        SurveyedNode& known = nodes[run.nodes()[node].id];
        // Keep known rates if no probe succeeded, for example because a job keeps the node busy.
        if (best.out[node] > 0) known.egress = {best.out[node]};
        if (best.in[node] > 0) known.ingress = {best.in[node]};
        known.num_devices = run.nodes()[node].num_devices;
        const auto inside = run.insides().find(static_cast<int>(node));
        if (inside != run.insides().end()) take_inside(known, inside->second);
    }
    if (!run.links().empty()) groups = groups_of(run, best);
    return drifts;
}

LinkGraph LinkBook::outline(const std::vector<NodeId>& order) const {
    LinkGraph graph;
    for (const NodeId& id : order) {
        const auto known = nodes.find(id);
        // A link graph leaves out nodes that were not measured in both directions.
        const bool reachable = known != nodes.end() && known->second.egress.value > 0 &&
                               known->second.ingress.value > 0;
        if (!reachable) continue;
        graph.nodes.push_back({.id = id,
                               .interior = graph.num_nodes(),
                               .egress = known->second.egress,
                               .ingress = known->second.ingress});
        graph.interiors.push_back(interior_of(known->second));
    }
    add_trunks(graph, groups);
    return graph;
}

LinkGraph LinkBook::graph(const std::vector<NodeId>& order) const {
    LinkGraph graph = outline(order);
    std::optional<Seconds> latency;
    for (int from = 0; from < graph.num_nodes(); ++from) {
        const std::vector<Link> links_from = row_of(*this, graph, from, latency);
        graph.network.insert(graph.network.end(), links_from.begin(), links_from.end());
    }
    return graph;
}

std::vector<Link> LinkBook::row(const LinkGraph& outline, int from) const {
    std::optional<Seconds> latency;
    return row_of(*this, outline, from, latency);
}

std::vector<LinkEnds> LinkBook::degraded() const {
    std::vector<LinkEnds> ends;
    for (const auto& [key, link] : links) {
        if (link.degraded) ends.push_back(key);
    }
    return ends;
}

}  // namespace rm
