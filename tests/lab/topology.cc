#include "tests/lab/topology.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/check.h"
#include "service/job_file/yaml_fields.h"

namespace rm::lab {
namespace {

constexpr std::size_t kMaxHosts = 250;  // the last byte of an address

YamlReader read_rate(MbitPerSec& rate) {
    return [&rate](const YamlValue& value) -> Status {
        RM_RETURN_IF_ERROR(read_number(rate.value)(value));
        if (rate.value >= 1 && rate <= kFastest) return {};
        return value.error(format("a rate is 1 to {} Mbit/s", kFastest.value));
    };
}

template <typename T>
YamlReader into(std::vector<T>& list) {
    return [&list](const YamlValue& value) -> Status {
        return read_sequence(
            value, [&list](const YamlValue& item) { return read_text(list.emplace_back())(item); });
    };
}

Status read_rack(const YamlValue& value, Topology& topology) {
    std::string& name = topology.racks.emplace_back();
    MbitPerSec rate = kFastest;
    std::vector<std::string> hosts;
    RM_RETURN_IF_ERROR(read_map(value, {{"name", read_text(name), Presence::required},
                                        {"rate", read_rate(rate)},
                                        {"hosts", into(hosts), Presence::required}}));
    for (const std::string& host : hosts)
        topology.hosts.push_back({host, topology.racks.size() - 1, rate});
    return {};
}

Status read_cable(const YamlValue& value, Topology& topology) {
    std::vector<std::string> ends;
    Cable cable;
    RM_RETURN_IF_ERROR(read_map(value, {{"between", into(ends), Presence::required},
                                        {"rate", read_rate(cable.rate), Presence::required}}));
    for (const std::string& end : ends) {
        const auto& racks = topology.racks;
        if (std::find(racks.begin(), racks.end(), end) == racks.end()) {
            return value.error(format("there is no rack '{}'", end));
        }
    }
    if (ends.size() != 2) return value.error("a cable is between two racks");
    cable.from = topology.rack_index(ends[0]);
    cable.to = topology.rack_index(ends[1]);
    topology.cables.push_back(cable);
    return {};
}

Status read_slow(const YamlValue& value, Topology& topology) {
    std::vector<YamlField> fields;
    for (Host& host : topology.hosts)
        fields.push_back({host.name, read_rate(host.rate)});
    return read_map(value, fields);
}

Status check_names(const Topology& topology) {
    std::set<std::string> seen(topology.racks.begin(), topology.racks.end());
    if (seen.size() != topology.racks.size()) return invalid_argument("two racks have one name");
    seen.clear();
    for (const Host& host : topology.hosts) {
        if (!seen.insert(host.name).second) {
            return invalid_argument("two hosts are named '{}'", host.name);
        }
    }
    if (seen.size() <= kMaxHosts) return {};
    return invalid_argument("{} hosts are more than {}", seen.size(), kMaxHosts);
}

// Joins racks cable by cable; a cable between racks that are already joined would close a loop.
Status check_tree(const Topology& topology) {
    std::vector<std::size_t> group(topology.racks.size());
    std::iota(group.begin(), group.end(), 0);
    for (const Cable& cable : topology.cables) {
        const std::size_t joined = group[cable.to];
        if (joined == group[cable.from]) {
            return invalid_argument("the cable between {} and {} closes a loop",
                                    topology.racks[cable.from], topology.racks[cable.to]);
        }
        std::replace(group.begin(), group.end(), joined, group[cable.from]);
    }
    for (std::size_t rack = 0; rack < group.size(); ++rack) {
        if (group[rack] == group[0]) continue;
        return invalid_argument("no cable joins rack {} to {}", topology.racks[rack],
                                topology.racks[0]);
    }
    return {};
}

Error in_file(std::string_view file_name, const Error& error) {
    return invalid_argument("{}: {}", file_name, error.message);
}

}  // namespace

std::size_t Topology::rack_index(std::string_view name) const {
    const auto at = std::find(racks.begin(), racks.end(), name);
    RM_CHECK(at != racks.end(), "the lab has no rack '{}'", name);
    return static_cast<std::size_t>(at - racks.begin());
}

std::size_t Topology::host_index(std::string_view name) const {
    const auto at =
        std::find_if(hosts.begin(), hosts.end(), [&](const Host& h) { return h.name == name; });
    RM_CHECK(at != hosts.end(), "the lab has no host '{}'", name);
    return static_cast<std::size_t>(at - hosts.begin());
}

Result<Topology> parse_topology(std::string_view yaml, std::string_view file_name) {
    RM_TRY(const YamlNode root, parse_yaml(yaml, file_name));
    Topology topology;
    const auto each = [&](auto read) -> YamlReader {
        return [&topology, read](const YamlValue& list) {
            return read_sequence(list, [&](const YamlValue& item) { return read(item, topology); });
        };
    };
    const std::vector<YamlField> fields = {
        {"racks", each(read_rack), Presence::required},
        {"cables", each(read_cable)},
        {"slow", [&](const YamlValue& value) { return read_slow(value, topology); }}};
    RM_RETURN_IF_ERROR(read_map({file_name, "", root, root.place}, fields));
    if (const Status names = check_names(topology); !names) {
        return in_file(file_name, names.error());
    }
    if (const Status tree = check_tree(topology); !tree) return in_file(file_name, tree.error());
    return topology;
}

}  // namespace rm::lab
