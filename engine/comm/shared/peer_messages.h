#pragma once

#include <deque>
#include <string>

#include "engine/comm/message.h"
#include "engine/comm/shared/door.h"

namespace rm {

// The messages in flight between a rank and one peer of its node, and the rings they go through: a
// message is its length and its bytes, as they fit. It is over for the sender when the receiver has
// taken all of it. One thread at a time.
class PeerMessages {
public:
    // `incoming` is the ring of the rank's own box for this peer.
    PeerMessages(int rank, int peer, NodePeer node, RingReader incoming);

    // The message's number in its direction.
    std::int64_t send(std::span<const std::byte> bytes);
    std::int64_t recv(std::span<std::byte> bytes);
    bool is_over(Direction direction, std::int64_t number) const;
    // A message that would stand still if this rank did not move it.
    bool has_work() const { return !sends_.empty() || !recvs_.empty(); }
    void withdraw();

    // Moves what the rings have and hold, and rings at the peer where that helps it. True when
    // bytes have moved; when none have, the peer rings once more can move, or the awaited send is
    // over.
    bool move();
    // Names the send that the rank waits for: for others that are wholly in the ring no ring comes.
    void await_send(std::int64_t number) { awaited_send_ = number; }

    // How a message's lengths differ, "rank 0 sends 8 bytes where rank 1 expects 4": no later
    // message from the peer is taken. Empty while they do not.
    const std::string& mismatch() const { return mismatch_; }
    // Why nothing more will come, though what has come may still be in the ring: "rank 1 is gone:
    // ..."; empty while the peer is there. Looking at its socket is a system call.
    enum class Look { memory, socket };
    std::string lost(Look look) const;
    void ring() { node_.box.head().bell.ring(); }

private:
    struct Sending {
        std::span<const std::byte> left;
        bool begun = false;
    };
    struct Receiving {
        std::span<std::byte> left;
        bool begun = false;
    };
    void wish();
    bool put_some();
    bool take_some();
    void settle();
    bool begin(Receiving& message, std::size_t& available);
    std::size_t put_of(Sending& message, std::size_t room);

    const int rank_;
    const int peer_;
    NodePeer node_;
    RingWriter out_;
    RingReader in_;
    std::deque<Sending> sends_;       // not wholly in the ring
    std::deque<std::uint64_t> ends_;  // where sends end that are in the ring and not taken
    std::deque<Receiving> recvs_;
    std::int64_t awaited_send_ = -1;
    std::int64_t num_sends_ = 0;
    std::int64_t num_recvs_ = 0;
    std::int64_t num_sent_ = 0;
    std::int64_t num_received_ = 0;
    std::string mismatch_;
};

}  // namespace rm
