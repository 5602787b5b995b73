#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "topology/routes.h"

namespace rm {

// Devices by their ids where a link graph has them by number, and back. Borrows the graph.
class GraphDevices {
public:
    explicit GraphDevices(const LinkGraph& graph);

    // Nothing: its node was not measured, or had fewer devices then.
    std::optional<Endpoint> find(const DeviceId& device) const;
    DeviceId id(Endpoint at) const;
    // All devices of the graph that are none of `devices`.
    std::vector<Endpoint> all_but(const std::vector<DeviceId>& devices) const;

private:
    const LinkGraph& graph_;
    std::map<NodeId, int> node_of_;
};

}  // namespace rm
