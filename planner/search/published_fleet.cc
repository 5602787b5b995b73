#include "planner/search/published_fleet.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace rm {
namespace {

// A rented machine.
struct NodeShape {
    std::string_view kind;  // of published_profiles()
    std::string_view source;
    int devices = 0;
    GbitPerSec network;  // of the node, each way
    GbitPerSec inside;   // of a pair of devices, each way
    Bytes memory;        // of the host
};

constexpr std::int64_t kGiga = 1'000'000'000;
constexpr NodeShape kShapes[] = {
    {"L40S",
     "Crusoe l40s-48gb.10x: 175 Gbit/s, 144 GB of host memory per GPU; PCIe 4.0 x16",
     10,
     {175},
     {176},
     {1440 * kGiga}},
    {"A100",
     "8 GPUs with NVLink 3 (300 GB/s each way), 1,600 Gbit/s, 2 TB of host memory",
     8,
     {1600},
     {2400},
     {2000 * kGiga}},
    {"H100",
     "8 GPUs with NVLink 4 (450 GB/s each way), 3,200 Gbit/s, 2 TB of host memory",
     8,
     {3200},
     {3600},
     {2000 * kGiga}},
    {"H200",
     "8 GPUs with NVLink 4 (450 GB/s each way), 3,200 Gbit/s, 2 TB of host memory",
     8,
     {3200},
     {3600},
     {2000 * kGiga}},
};

// Assumed of all.
constexpr Seconds kNetworkLatency{30e-6};
constexpr Seconds kInsideLatency{10e-6};
constexpr double kForRanks = 15.0 / 16;  // of the host's memory, as workers have it by default

NodeInterior interior_of(const NodeShape& shape, int devices) {
    const Link link{.bandwidth = shape.inside, .flow = {}, .latency = kInsideLatency};
    return {.num_devices = devices,
            .pairs = std::vector<Link>(usize(devices) * usize(devices), link),
            .bridges = {}};
}

LinkGraph links_of(const NodeShape& shape, int number) {
    const int nodes = (number + shape.devices - 1) / shape.devices;
    std::vector<NodeId> names;
    for (int node = 1; node <= nodes; ++node)
        names.push_back({format("node-{:03}", node)});
    const Link network{.bandwidth = shape.network, .flow = {}, .latency = kNetworkLatency};
    const Link inside{.bandwidth = shape.inside, .flow = {}, .latency = kInsideLatency};
    LinkGraph links = uniform_graph(names, std::min(number, shape.devices), network, inside);
    for (LinkNode& node : links.nodes)
        node.egress = node.ingress = shape.network;
    const int last = number - (nodes - 1) * shape.devices;
    if (nodes == 1 || last == shape.devices) return links;
    links.nodes.back().interior = static_cast<int>(links.interiors.size());
    links.interiors.push_back(interior_of(shape, last));
    return links;
}

}  // namespace

Result<FleetSpec> published_fleet(std::string_view kind, int number) {
    if (number < 1)
        return invalid_argument("{} devices of kind {}; a fleet has 1 or more", number, kind);
    std::vector<std::string> known;
    for (DeviceProfile& profile : published_profiles()) {
        known.push_back(profile.name);
        if (profile.name != kind) continue;
        const auto shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                        [&](const NodeShape& s) { return s.kind == kind; });
        RM_CHECK(shape != std::end(kShapes), "no node of kind {} is known", kind);
        profile.provenance += format("; nodes: {}", shape->source);
        const auto memory =
            static_cast<std::int64_t>(static_cast<double>(shape->memory.value) * kForRanks);
        return FleetSpec{std::move(profile), links_of(*shape, number), Bytes{memory}};
    }
    return make_error(ErrorCode::not_found,
                      "kind {}: no figures of it are published here; known: {}; describe others in "
                      "a fleet file",
                      kind, join(known));
}

}  // namespace rm
