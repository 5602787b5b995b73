#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/os/unique_fd.h"
#include "base/result.h"
#include "engine/comm/shared/box.h"
#include "engine/comm/shared/place.h"
#include "engine/comm/transport/transport.h"

namespace rm {

// A socket at which the ranks of a node call: a Unix socket with a random name in the network
// namespace, without a file, that keeps the bounds of messages.
class Door {
public:
    static Result<Door> open();
    int fd() const { return socket_.get(); }
    Place place(const std::string& address) const;

private:
    Door(UniqueFd socket, std::string name, std::string secret)
        : socket_(std::move(socket)), name_(std::move(name)), secret_(std::move(secret)) {}
    UniqueFd socket_;
    std::string name_;
    std::string secret_;
};

// A peer on this node once both sides have the other's box.
struct NodePeer {
    UniqueFd socket;  // hangs up when the peer's process ends
    Box box;
    std::size_t ring = 0;  // of that box, for this rank to write
};

// Connects this rank with `near`, ascending: its peers on this node. The i-th of them writes ring i
// of `box`. A rank calls those below it and answers those above; a caller that does not know the
// secret, or is another user's, is not answered. `places` are all ranks', by rank.
Result<std::map<int, NodePeer>> meet_on_node(const Door& door, const Box& box,
                                             const std::vector<Place>& places,
                                             const std::vector<int>& near,
                                             const TransportOptions& options);

}  // namespace rm
