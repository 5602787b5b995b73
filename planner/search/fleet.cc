#include "planner/search/fleet.h"

#include <algorithm>

#include "base/check.h"

namespace rm {

int FleetSpec::devices_of_a_node() const {
    int most = 0;
    for (int node = 0; node < links.num_nodes(); ++node)
        most = std::max(most, links.num_devices(node));
    return most;
}

Bytes FleetSpec::host_memory() const {
    return {node_memory.value / std::max(1, devices_of_a_node())};
}

std::vector<Endpoint> first_devices(const LinkGraph& links, int number) {
    std::vector<Endpoint> devices;
    for (int node = 0; node < links.num_nodes(); ++node) {
        for (int device = 0; device < links.num_devices(node); ++device) {
            if (static_cast<int>(devices.size()) == number) return devices;
            devices.push_back({node, device});
        }
    }
    RM_CHECK(static_cast<int>(devices.size()) == number, "{} devices were asked for of {}", number,
             devices.size());
    return devices;
}

}  // namespace rm
