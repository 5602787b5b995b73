#pragma once

#include <vector>

#include "base/units.h"
#include "kernels/meta/device_profile.h"
#include "topology/routes.h"

namespace rm {

// The machines that a plan is made for. A plan uses devices of one kind.
struct FleetSpec {
    DeviceProfile device;  // of every device
    LinkGraph links;       // the nodes and their devices
    Bytes node_memory;     // of each node's host, for ranks; 0: no limit is known

    int num_devices() const { return links.num_devices(); }
    // The node with the most devices.
    int devices_of_a_node() const;
    // The most that a rank may take of its device and, with all devices of its node in use, of the
    // host; 0: no limit is known.
    Bytes device_memory() const { return device.memory; }
    Bytes host_memory() const;
};

// The first `number` devices, node by node in order of registration. The fleet has as many.
std::vector<Endpoint> first_devices(const LinkGraph& links, int number);

}  // namespace rm
