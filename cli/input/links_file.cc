#include "cli/input/links_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "base/words.h"
#include "engine/json/parse_json.h"

namespace rm {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxBytes = std::size_t{512} << 20;
constexpr const char* kFormat = "ringmaster-links";
constexpr double kMicrosPerSecond = 1e6;

// An object of the file and its path: `network.links[3]`.
class Fields {
public:
    // Errors: not an object; a key that is not in `known`.
    static Result<Fields> of(const Json& json, const std::string& where,
                             std::initializer_list<const char*> known) {
        if (!json.is_object()) {
            return invalid_argument("{}: expected an object", where.empty() ? "the file" : where);
        }
        for (const auto& [key, value] : json.items()) {
            if (std::any_of(known.begin(), known.end(), [&](const char* k) { return key == k; })) {
                continue;
            }
            return invalid_argument("{}: unknown key; known: {}", path_of(where, key), join(known));
        }
        return Fields(json, where);
    }

    std::string path(std::string_view key) const { return path_of(where_, key); }
    bool has(const char* key) const { return json_.contains(key); }
    const Json& at(const char* key) const { return json_.at(key); }

    // `otherwise` if the key is absent; negative: the key is required.
    Result<double> number(const char* key, double otherwise) const {
        if (!has(key)) {
            if (otherwise >= 0) return otherwise;
            return invalid_argument("{}: it is missing", path(key));
        }
        if (!at(key).is_number()) return invalid_argument("{}: expected a number", path(key));
        return at(key).get<double>();
    }
    Result<int> count(const char* key, int otherwise) const {
        if (!has(key)) return otherwise;
        if (!at(key).is_number_unsigned() || at(key).get<std::uint64_t>() > 1'000'000) {
            return invalid_argument("{}: expected a whole number, 0 or more", path(key));
        }
        return at(key).get<int>();
    }
    Result<std::string> text(const char* key) const {
        if (!has(key)) return invalid_argument("{}: it is missing", path(key));
        if (!at(key).is_string()) return invalid_argument("{}: expected a text", path(key));
        return at(key).get<std::string>();
    }
    // Each element of a list with its path; nothing where the key is absent.
    template <typename Use>
    Status each(const char* key, Use use) const {
        if (!has(key)) return {};
        if (!at(key).is_array()) return invalid_argument("{}: expected a list", path(key));
        int index = 0;
        for (const Json& element : at(key))
            RM_RETURN_IF_ERROR(use(element, format("{}[{}]", path(key), index++)));
        return {};
    }

private:
    Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}
    static std::string path_of(const std::string& where, std::string_view key) {
        return where.empty() ? std::string(key) : format("{}.{}", where, key);
    }

    const Json& json_;
    std::string where_;
};

Result<Link> link_of(const Fields& fields) {
    RM_TRY(const double bandwidth, fields.number("gbit_per_s", -1));
    RM_TRY(const double flow, fields.number("flow_gbit_per_s", 0));
    RM_TRY(const double latency, fields.number("latency_us", 0));
    return Link{{bandwidth}, {flow}, {latency / kMicrosPerSecond}};
}

Result<Link> default_link(const Json& json, const std::string& where) {
    RM_TRY(const Fields fields,
           Fields::of(json, where, {"gbit_per_s", "flow_gbit_per_s", "latency_us"}));
    return link_of(fields);
}

class Reader {
public:
    Result<LinkGraph> read(const Json& json) {
        RM_TRY(
            const Fields file,
            Fields::of(json, "", {"format", "version", "interiors", "nodes", "network", "trunks"}));
        RM_TRY(const std::string name, file.text("format"));
        RM_TRY(const int version, file.count("version", 0));
        if (name != kFormat || version != 1) {
            return invalid_argument("format '{}' version {}; this program reads {} version 1", name,
                                    version, kFormat);
        }
        RM_RETURN_IF_ERROR(read_interiors(file));
        RM_RETURN_IF_ERROR(file.each("nodes", [this](const Json& node, const std::string& where) {
            return read_node(node, where);
        }));
        if (graph_.nodes.empty()) return invalid_argument("nodes: there are none");
        graph_.network.assign(graph_.nodes.size() * graph_.nodes.size(), Link{});
        if (file.has("network")) RM_RETURN_IF_ERROR(read_network(file.at("network")));
        RM_RETURN_IF_ERROR(file.each("trunks", [this](const Json& trunk, const std::string& where) {
            return read_trunk(trunk, where);
        }));
        RM_RETURN_IF_ERROR(validate(graph_));
        return std::move(graph_);
    }

private:
    Status read_interiors(const Fields& file) {
        if (!file.has("interiors")) return {};
        const Json& list = file.at("interiors");
        if (!list.is_object()) return invalid_argument("interiors: expected an object");
        for (const auto& [name, json] : list.items()) {
            RM_TRY(NodeInterior interior, interior_of(json, format("interiors.{}", name)));
            interior_index_[name] = static_cast<int>(graph_.interiors.size());
            graph_.interiors.push_back(std::move(interior));
        }
        return {};
    }

    static Result<NodeInterior> interior_of(const Json& json, const std::string& where) {
        RM_TRY(const Fields fields,
               Fields::of(json, where, {"devices", "link", "links", "bridges"}));
        RM_TRY(const int devices, fields.count("devices", 1));
        if (devices < 1 || devices > 1024) {
            return invalid_argument("{}: 1 to 1024 devices", fields.path("devices"));
        }
        NodeInterior interior;
        interior.num_devices = devices;
        interior.pairs.assign(usize(devices) * usize(devices), Link{});
        if (fields.has("link")) {
            RM_TRY(const Link link, default_link(fields.at("link"), fields.path("link")));
            std::fill(interior.pairs.begin(), interior.pairs.end(), link);
        }
        RM_RETURN_IF_ERROR(fields.each("links", [&](const Json& link, const std::string& at) {
            return read_pair(link, at, interior);
        }));
        RM_RETURN_IF_ERROR(fields.each("bridges", [&](const Json& bridge, const std::string& at) {
            return read_bridge(bridge, at, interior);
        }));
        return interior;
    }

    static Status read_pair(const Json& json, const std::string& where, NodeInterior& interior) {
        RM_TRY(
            const Fields fields,
            Fields::of(json, where, {"from", "to", "gbit_per_s", "flow_gbit_per_s", "latency_us"}));
        RM_TRY(const int from, fields.count("from", interior.num_devices));
        RM_TRY(const int to, fields.count("to", interior.num_devices));
        if (from >= interior.num_devices || to >= interior.num_devices || from == to) {
            return invalid_argument("{}: `from` and `to` are two devices, 0 to {}", where,
                                    interior.num_devices - 1);
        }
        RM_TRY(interior.pairs[usize(from * interior.num_devices + to)], link_of(fields));
        return {};
    }

    static Status read_bridge(const Json& json, const std::string& where, NodeInterior& interior) {
        RM_TRY(const Fields fields,
               Fields::of(json, where, {"name", "devices", "up_gbit_per_s", "down_gbit_per_s"}));
        HostBridge bridge;
        RM_TRY(bridge.name, fields.text("name"));
        RM_TRY(bridge.up.value, fields.number("up_gbit_per_s", 0));
        RM_TRY(bridge.down.value, fields.number("down_gbit_per_s", 0));
        RM_RETURN_IF_ERROR(
            fields.each("devices", [&](const Json& device, const std::string& at) -> Status {
                if (!device.is_number_unsigned()) {
                    return invalid_argument("{}: expected the number of a device", at);
                }
                bridge.devices.push_back(device.get<int>());
                return {};
            }));
        interior.bridges.push_back(std::move(bridge));
        return {};
    }

    Status read_node(const Json& json, const std::string& where) {
        RM_TRY(
            const Fields fields,
            Fields::of(json, where, {"id", "interior", "egress_gbit_per_s", "ingress_gbit_per_s"}));
        LinkNode node;
        RM_TRY(node.id.value, fields.text("id"));
        RM_TRY(node.egress.value, fields.number("egress_gbit_per_s", 0));
        RM_TRY(node.ingress.value, fields.number("ingress_gbit_per_s", 0));
        if (graph_.interiors.empty()) graph_.interiors.push_back({1, {Link{}}, {}});
        if (fields.has("interior")) {
            RM_TRY(const std::string name, fields.text("interior"));
            const auto found = interior_index_.find(name);
            if (found == interior_index_.end()) {
                return invalid_argument("{}: there is no interior '{}'", fields.path("interior"),
                                        name);
            }
            node.interior = found->second;
        } else if (graph_.interiors.size() > 1) {
            return invalid_argument("{}: it is missing; there are {} interiors",
                                    fields.path("interior"), graph_.interiors.size());
        }
        node_index_[node.id.value] = graph_.num_nodes();
        graph_.nodes.push_back(std::move(node));
        return {};
    }

    Result<int> node_called(const Json& json, const std::string& where) const {
        if (!json.is_string()) return invalid_argument("{}: expected the id of a node", where);
        const auto found = node_index_.find(json.get<std::string>());
        if (found != node_index_.end()) return found->second;
        return invalid_argument("{}: there is no node '{}'", where, json.get<std::string>());
    }

    Status read_network(const Json& json) {
        RM_TRY(const Fields fields, Fields::of(json, "network", {"default", "matrix", "links"}));
        if (fields.has("default")) {
            RM_TRY(const Link link, default_link(fields.at("default"), "network.default"));
            std::fill(graph_.network.begin(), graph_.network.end(), link);
        }
        if (fields.has("matrix")) RM_RETURN_IF_ERROR(read_matrices(fields.at("matrix")));
        return fields.each("links", [this](const Json& link, const std::string& where) {
            return read_link(link, where);
        });
    }

    Status read_matrices(const Json& json) {
        RM_TRY(const Fields fields,
               Fields::of(json, "network.matrix", {"gbit_per_s", "flow_gbit_per_s", "latency_us"}));
        RM_RETURN_IF_ERROR(read_matrix(fields, "gbit_per_s",
                                       [](Link& link, double value) { link.bandwidth = {value}; }));
        RM_RETURN_IF_ERROR(read_matrix(fields, "flow_gbit_per_s",
                                       [](Link& link, double value) { link.flow = {value}; }));
        return read_matrix(fields, "latency_us", [](Link& link, double value) {
            link.latency = {value / kMicrosPerSecond};
        });
    }
    template <typename Set>
    Status read_matrix(const Fields& fields, const char* key, Set set) {
        if (!fields.has(key)) return {};
        const std::size_t n = graph_.nodes.size();
        const Json& rows = fields.at(key);
        if (!rows.is_array() || rows.size() != n) {
            return invalid_argument("{}: expected {}, one per node", fields.path(key),
                                    counted(n, "row"));
        }
        for (std::size_t from = 0; from < n; ++from) {
            if (!rows[from].is_array() || rows[from].size() != n) {
                return invalid_argument("{}[{}]: expected a row of {}", fields.path(key), from,
                                        counted(n, "number"));
            }
            for (std::size_t to = 0; to < n; ++to) {
                const Json& value = rows[from][to];
                if (from == to) continue;
                if (!value.is_number()) {
                    return invalid_argument("{}[{}][{}]: expected a number", fields.path(key), from,
                                            to);
                }
                set(graph_.network[from * n + to], value.get<double>());
            }
        }
        return {};
    }

    Status read_link(const Json& json, const std::string& where) {
        RM_TRY(
            const Fields fields,
            Fields::of(json, where, {"from", "to", "gbit_per_s", "flow_gbit_per_s", "latency_us"}));
        if (!fields.has("from") || !fields.has("to")) {
            return invalid_argument("{}: `from` and `to` are required", where);
        }
        RM_TRY(const int from, node_called(fields.at("from"), fields.path("from")));
        RM_TRY(const int to, node_called(fields.at("to"), fields.path("to")));
        if (from == to) return invalid_argument("{}: from a node to itself", where);
        RM_TRY(graph_.between(from, to), link_of(fields));
        return {};
    }

    Status read_trunk(const Json& json, const std::string& where) {
        RM_TRY(const Fields fields, Fields::of(json, where, {"name", "from", "to", "gbit_per_s"}));
        Trunk trunk;
        RM_TRY(trunk.name, fields.text("name"));
        RM_TRY(trunk.bandwidth.value, fields.number("gbit_per_s", -1));
        const auto read_into = [this](std::vector<int>& nodes) {
            return [this, &nodes](const Json& id, const std::string& at) -> Status {
                RM_TRY(const int node, node_called(id, at));
                nodes.push_back(node);
                return {};
            };
        };
        RM_RETURN_IF_ERROR(fields.each("from", read_into(trunk.from)));
        RM_RETURN_IF_ERROR(fields.each("to", read_into(trunk.to)));
        graph_.trunks.push_back(std::move(trunk));
        return {};
    }

    LinkGraph graph_;
    std::map<std::string, int> interior_index_;
    std::map<std::string, int> node_index_;
};

}  // namespace

Result<LinkGraph> parse_links(std::string_view text) {
    RM_TRY(const Json json, parse_strict_json(text, kMaxBytes));
    return Reader().read(json);
}

Result<LinkGraph> read_links(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return make_error(ErrorCode::not_found, "{}: cannot be read", path);
    std::ostringstream text;
    text << in.rdbuf();
    auto graph = parse_links(text.str());
    if (graph) return graph;
    return invalid_argument("{}: {}", path, graph.error().message);
}

}  // namespace rm
