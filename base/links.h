#pragma once

#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace rm {

enum class LinkClass { network, device_pair, host };

// A directed connection with measured bandwidth and latency.
struct Link {
    NodeId from;
    NodeId to;
    LinkClass kind = LinkClass::network;
    GbitPerSec bandwidth;
    Seconds latency;
};

struct LinkGraph {
    std::vector<NodeId> nodes;
    std::vector<Link> links;
};

}  // namespace rm
