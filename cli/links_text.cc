#include <nlohmann/json.hpp>

#include <cmath>

#include "cli/links_file.h"

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

// Whether any link between two nodes has it.
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
        list.push_back(graph.nodes[static_cast<std::size_t>(node)].id.value);
    return list;
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

}  // namespace rm
