#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/shared/peer_messages.h"
#include "engine/comm/transport/links.h"

namespace rm {

// Links through shared memory, to the peers on this rank's node. Rings are shorter than messages,
// and a rank posts many messages before it waits for one: a rank that waits moves all that are in
// flight.
class SharedMemoryLinks final : public Links {
public:
    // The i-th peer writes ring i of `box`.
    SharedMemoryLinks(int rank, Box box, std::map<int, NodePeer> peers);
    ~SharedMemoryLinks() override;

    Result<std::int64_t> start(const MessageInfo& info, std::byte* data) override;
    Status wait(const MessageInfo& info, std::int64_t number, Seconds timeout) override;
    void end(const std::string& reason) override;
    std::vector<Connection> connections() const override;

    // For a thread that moves messages while the rank waits for something else.
    bool has_work();  // a message would stand still
    void move_or_sleep();
    void wake() { box_.head().bell.ring(); }

private:
    // Moves all messages once, and says how the awaited one is then: over, to be looked at again,
    // or nothing has moved. An error: it never will be over.
    enum class State { over, moves, stands };
    Result<State> take_turn(const MessageInfo& info, std::int64_t number, PeerMessages::Look look);
    bool move();

    const Box box_;
    std::mutex mutex_;  // guards what follows
    std::map<int, PeerMessages> peers_;
    std::string reason_;  // why these links have ended; empty while they have not
};

}  // namespace rm
