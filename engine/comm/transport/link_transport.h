#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/shared/shared_links.h"
#include "engine/comm/transport/links.h"

namespace rm {

// A rank's links to its peers on the same node, and to those of other nodes. Null: it has none.
struct RankLinks {
    std::vector<int> near_peers;
    std::unique_ptr<SharedMemoryLinks> near;
    std::unique_ptr<Links> far;
};

// Routes messages to links by peer; counts them, and ends all links with one reason.
std::unique_ptr<Transport> make_link_transport(const std::string& address,
                                               const TransportOptions& options, RankLinks links);

}  // namespace rm
