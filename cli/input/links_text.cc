#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "cli/input/links_file.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;

// To the picosecond, so that what was read as 45 is written as 45.
double micros(Seconds latency) {
    return std::round(latency.value * 1e12) / 1e6;
}

void add_link(Json& json, const Link& link) {
    json["gbit_per_s"] = link.bandwidth.value;
    if (link.flow.value > 0) json["flow_gbit_per_s"] = link.flow.value;
    if (link.latency.value > 0) json["latency_us"] = micros(link.latency);
}

std::string interior_name(int index) {
    return format("interior-{}", index);
}

Json interior_json(const NodeInterior& interior) {
    Json json{{"devices", interior.num_devices}};
    for (int from = 0; from < interior.num_devices; ++from) {
        for (int to = 0; to < interior.num_devices; ++to) {
            if (from == to) continue;
            Json link{{"from", from}, {"to", to}};
            add_link(link, interior.pair(from, to));
            json["links"].push_back(std::move(link));
        }
    }
    for (const HostBridge& bridge : interior.bridges) {
        json["bridges"].push_back({{"name", bridge.name},
                                   {"devices", bridge.devices},
                                   {"up_gbit_per_s", bridge.up.value},
                                   {"down_gbit_per_s", bridge.down.value}});
    }
    return json;
}

Json node_json(const LinkNode& node) {
    Json json{{"id", node.id.value}, {"interior", interior_name(node.interior)}};
    if (node.egress.value > 0) json["egress_gbit_per_s"] = node.egress.value;
    if (node.ingress.value > 0) json["ingress_gbit_per_s"] = node.ingress.value;
    return json;
}

template <typename Value>
Json matrix(const LinkGraph& graph, Value value) {
    Json rows = Json::array();
    for (int from = 0; from < graph.num_nodes(); ++from) {
        Json row = Json::array();
        for (int to = 0; to < graph.num_nodes(); ++to)
            row.push_back(from == to ? 0 : value(graph.between(from, to)));
        rows.push_back(std::move(row));
    }
    return rows;
}

// Whether `has` is true for a link between any two nodes.
template <typename Has>
bool any_link(const LinkGraph& graph, Has has) {
    for (int from = 0; from < graph.num_nodes(); ++from) {
        for (int to = 0; to < graph.num_nodes(); ++to) {
            if (from != to && has(graph.between(from, to))) return true;
        }
    }
    return false;
}

Json matrices(const LinkGraph& graph) {
    Json json;
    json["gbit_per_s"] = matrix(graph, [](const Link& link) { return link.bandwidth.value; });
    if (any_link(graph, [](const Link& link) { return link.flow.value > 0; })) {
        json["flow_gbit_per_s"] = matrix(graph, [](const Link& link) { return link.flow.value; });
    }
    if (any_link(graph, [](const Link& link) { return link.latency.value > 0; })) {
        json["latency_us"] = matrix(graph, [](const Link& link) { return micros(link.latency); });
    }
    return json;
}

Json network_json(const LinkGraph& graph) {
    if (graph.num_nodes() < 2) return Json::object();
    const Link& first = graph.between(0, 1);
    if (any_link(graph, [&](const Link& link) { return link != first; })) {
        return {{"matrix", matrices(graph)}};
    }
    Json link;
    add_link(link, first);
    return {{"default", link}};
}

Json ids(const LinkGraph& graph, const std::vector<int>& nodes) {
    Json list = Json::array();
    for (const int node : nodes)
        list.push_back(graph.nodes[usize(node)].id.value);
    return list;
}

bool has(const std::vector<int>& members, int node) {
    return std::find(members.begin(), members.end(), node) != members.end();
}

// The sides of the trunks that list the node. An empty side (all other nodes) lists none: it does
// not set a node apart.
std::vector<std::size_t> sides_of(const LinkGraph& graph, int node) {
    std::vector<std::size_t> sides;
    for (std::size_t t = 0; t < graph.trunks.size(); ++t) {
        if (has(graph.trunks[t].from, node)) sides.push_back(2 * t);
        if (has(graph.trunks[t].to, node)) sides.push_back(2 * t + 1);
    }
    return sides;
}

}  // namespace

std::string links_text(const LinkGraph& graph) {
    Json json{{"format", "ringmaster-links"}, {"version", 1}};
    for (std::size_t i = 0; i < graph.interiors.size(); ++i)
        json["interiors"][interior_name(static_cast<int>(i))] = interior_json(graph.interiors[i]);
    for (const LinkNode& node : graph.nodes)
        json["nodes"].push_back(node_json(node));
    json["network"] = network_json(graph);
    for (const Trunk& trunk : graph.trunks) {
        json["trunks"].push_back({{"name", trunk.name},
                                  {"from", ids(graph, trunk.from)},
                                  {"to", ids(graph, trunk.to)},
                                  {"gbit_per_s", trunk.bandwidth.value}});
    }
    return json.dump() + "\n";
}

std::string slurm_topology(const LinkGraph& graph) {
    std::vector<std::vector<int>> leaves;
    std::map<std::vector<std::size_t>, std::size_t> leaf_of;
    for (int node = 0; node < graph.num_nodes(); ++node) {
        const auto [leaf, is_new] = leaf_of.emplace(sides_of(graph, node), leaves.size());
        if (is_new) leaves.emplace_back();
        leaves[leaf->second].push_back(node);
    }
    std::string text = "# From measured links; Slurm knows no speeds, only who shares a switch.\n";
    std::string switches;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        text += format("SwitchName=leaf{} Nodes=", i);
        for (std::size_t n = 0; n < leaves[i].size(); ++n) {
            text += format("{}{}", n == 0 ? "" : ",", graph.nodes[usize(leaves[i][n])].id);
        }
        text += "\n";
        switches += format("{}leaf{}", i == 0 ? "" : ",", i);
    }
    if (leaves.size() > 1) text += format("SwitchName=top Switches={}\n", switches);
    return text;
}

}  // namespace rm
