#include "cli/input/fleet_file.h"

#include <charconv>
#include <filesystem>

#include "base/text.h"
#include "cli/input/links_file.h"
#include "engine/schedule/device_profile_json.h"
#include "planner/search/published_fleet.h"
#include "service/job_file/price_list.h"
#include "service/job_file/yaml_fields.h"

namespace rm {
namespace {

// The file as it is written.
struct FleetText {
    std::string device, profile;
    int nodes = 0, devices_per_node = 1;
    Bytes node_memory, device_memory;
    std::string links;
    Link network{.bandwidth = {}, .flow = {}, .latency = {}};
    Link inside{.bandwidth = {}, .flow = {}, .latency = {}};
    Rates rates;
};

YamlReader read_link(Link& link) {
    return [&link](const YamlValue& value) -> Status {
        double latency_us = 0;
        RM_RETURN_IF_ERROR(
            read_map(value, {{"gbit_per_s", read_number(link.bandwidth.value), Presence::required},
                             {"flow_gbit_per_s", read_number(link.flow.value)},
                             {"latency_us", read_number(latency_us)}}));
        link.latency = {latency_us / 1e6};
        if (link.bandwidth.value > 0) return {};
        return value.error(format("gbit_per_s is {}; it must be above 0", link.bandwidth.value));
    };
}

Status read_fleet(const YamlValue& file, const std::string& directory, FleetText& fleet) {
    RM_RETURN_IF_ERROR(read_map(file, {{"device", read_text(fleet.device)},
                                       {"profile", read_path(fleet.profile, directory)},
                                       {"device_memory", read_bytes(fleet.device_memory)},
                                       {"nodes", read_whole(fleet.nodes)},
                                       {"devices_per_node", read_whole(fleet.devices_per_node)},
                                       {"node_memory", read_bytes(fleet.node_memory)},
                                       {"links", read_path(fleet.links, directory)},
                                       {"network", read_link(fleet.network)},
                                       {"inside", read_link(fleet.inside)},
                                       {"price", read_price(fleet.rates.price)},
                                       {"power", read_power(fleet.rates.power)}}));
    if (fleet.device.empty() == fleet.profile.empty()) {
        return file.error(
            "needs one of device (a kind with published figures) and profile (a file that "
            "ring-bench device has written)");
    }
    const bool sizes = fleet.nodes > 0 && fleet.devices_per_node > 0;
    if (fleet.links.empty() && !sizes)
        return file.error("needs links (a file of measured links), or nodes: N from 1 on");
    if (fleet.links.empty() && fleet.nodes > 1 && fleet.network.bandwidth.value <= 0)
        return file.error("needs network: {gbit_per_s: N}, as it has several nodes and no links");
    if (fleet.links.empty() && fleet.devices_per_node > 1 && fleet.inside.bandwidth.value <= 0)
        return file.error("needs inside: {gbit_per_s: N}, as a node has several devices");
    return check_rates(fleet.rates);
}

Result<DeviceProfile> profile_of(const FleetText& text) {
    if (!text.profile.empty()) return read_device_profile(text.profile);
    RM_TRY(FleetSpec fleet, published_fleet(text.device, 1));
    return std::move(fleet.device);
}

Result<LinkGraph> links_of(const FleetText& text) {
    if (!text.links.empty()) return read_links(text.links);
    std::vector<NodeId> names;
    for (int node = 1; node <= text.nodes; ++node)
        names.push_back({format("node-{:03}", node)});
    const auto some = [](Link link) {
        if (link.bandwidth.value <= 0) link.bandwidth = {1};  // of no pair
        return link;
    };
    LinkGraph links =
        uniform_graph(names, text.devices_per_node, some(text.network), some(text.inside));
    for (LinkNode& node : links.nodes)
        node.egress = node.ingress = text.network.bandwidth;
    RM_RETURN_IF_ERROR(validate(links));
    return links;
}

}  // namespace

Result<PricedFleet> read_fleet_file(const std::string& path) {
    RM_TRY(const YamlNode root, read_yaml_file(path));
    FleetText fleet;
    const std::string directory = std::filesystem::absolute(path).parent_path().string();
    RM_RETURN_IF_ERROR(read_fleet({path, "", root, root.place}, directory, fleet));
    RM_TRY(DeviceProfile profile, profile_of(fleet));
    if (fleet.device_memory.value > 0) profile.memory = fleet.device_memory;
    RM_TRY(LinkGraph links, links_of(fleet));
    return PricedFleet{{std::move(profile), std::move(links), fleet.node_memory},
                       std::move(fleet.rates)};
}

Result<PricedFleet> parse_fleet_argument(std::string_view text) {
    const std::size_t star = std::min(text.find('*'), text.size());
    const std::string_view digits = text.substr(std::min(star + 1, text.size()));
    int number = 0;
    const auto [stop, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failed != std::errc() || stop != digits.data() + digits.size() || star == 0) {
        return invalid_argument("--on {}: expected KIND*NUMBER, such as 'L40S*32'", text);
    }
    auto fleet = published_fleet(text.substr(0, star), number);
    if (!fleet) return make_error(fleet.error().code, "--on {}: {}", text, fleet.error().message);
    return PricedFleet{*std::move(fleet), {}};
}

}  // namespace rm
