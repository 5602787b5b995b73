#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "topology/routes.h"

namespace rm {

// Converts between device ids and their numbers in a link graph. Borrows the graph.
class GraphDevices {
public:
    explicit GraphDevices(const LinkGraph& graph);

    // Nothing if the node was not measured, or had fewer devices then.
    std::optional<Endpoint> find(const DeviceId& device) const;
    DeviceId id(Endpoint at) const;
    // All devices of the graph except `devices`.
    std::vector<Endpoint> all_but(const std::vector<DeviceId>& devices) const;

private:
    const LinkGraph& graph_;
    std::map<NodeId, int> node_of_;
};

}  // namespace rm
