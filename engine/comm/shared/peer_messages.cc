#include "engine/comm/shared/peer_messages.h"

#include <poll.h>

#include <algorithm>

namespace rm {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
// After so many bytes the other side may go on with them, on another core.
constexpr std::size_t kChunk = std::size_t{64} << 10;

std::span<const std::byte> bytes_of(const std::uint64_t& length) {
    return std::as_bytes(std::span(&length, 1));
}

bool has_hung_up(const UniqueFd& socket) {
    pollfd look{socket.get(), POLLIN, 0};
    return ::poll(&look, 1, 0) > 0;  // peers write nothing to it
}

}  // namespace

PeerMessages::PeerMessages(int rank, int peer, NodePeer node, RingReader incoming)
    : rank_(rank),
      peer_(peer),
      node_(std::move(node)),
      out_(node_.box.writer(node_.ring)),
      in_(incoming) {}

std::int64_t PeerMessages::send(std::span<const std::byte> bytes) {
    sends_.push_back({bytes});
    return num_sends_++;
}

std::int64_t PeerMessages::recv(std::span<std::byte> bytes) {
    recvs_.push_back({bytes});
    return num_recvs_++;
}

bool PeerMessages::is_over(Direction direction, std::int64_t number) const {
    return number < (direction == Direction::send ? num_sent_ : num_received_);
}

void PeerMessages::withdraw() {
    sends_.clear();
    ends_.clear();
    recvs_.clear();
}

bool PeerMessages::move() {
    wish();
    const bool put = put_some();
    const bool took = take_some();
    settle();
    return put || took;
}

// The room that the peer frees meanwhile is for the next call: peers take turns, and an abort does
// not wait for the end of a long message.
bool PeerMessages::put_some() {
    std::size_t room = out_.room();
    bool put = false;
    while (!sends_.empty() && room > 0) {
        Sending& message = sends_.front();
        if (!message.begun && room < kLengthBytes) break;
        room -= put_of(message, room);
        if (message.left.empty()) {
            ends_.push_back(out_.written());
            sends_.pop_front();
        }
        out_.publish();
        ring();
        put = true;
    }
    return put;
}

std::size_t PeerMessages::put_of(Sending& message, std::size_t room) {
    const std::uint64_t before = out_.written();
    if (!message.begun) {
        out_.put(bytes_of(message.left.size()));
        message.begun = true;
        room -= kLengthBytes;
    }
    const std::size_t size = std::min({room, message.left.size(), kChunk});
    out_.put(message.left.first(size));
    message.left = message.left.subspan(size);
    return out_.written() - before;
}

// Likewise for what the peer puts meanwhile.
bool PeerMessages::take_some() {
    std::size_t available = in_.available();
    bool took = false;
    while (!recvs_.empty() && mismatch_.empty()) {
        Receiving& message = recvs_.front();
        if (!message.begun && !begin(message, available)) break;
        const std::size_t size = std::min({available, message.left.size(), kChunk});
        if (size == 0 && !message.left.empty()) break;
        in_.take(message.left.first(size));
        message.left = message.left.subspan(size);
        available -= size;
        if (message.left.empty()) {
            recvs_.pop_front();
            ++num_received_;
        }
        if (in_.publish()) ring();
        took = true;
    }
    return took;
}

// Takes the message's length, if it is there, and compares.
bool PeerMessages::begin(Receiving& message, std::size_t& available) {
    if (available < kLengthBytes) return false;
    std::uint64_t length = 0;
    in_.take(std::as_writable_bytes(std::span(&length, 1)));
    available -= kLengthBytes;
    if (length != message.left.size()) {
        mismatch_ = format("rank {} sends {} bytes where rank {} expects {}", peer_, length, rank_,
                           message.left.size());
        return false;
    }
    message.begun = true;
    return true;
}

void PeerMessages::settle() {
    while (!ends_.empty() && out_.read() >= ends_.front()) {
        ends_.pop_front();
        ++num_sent_;
    }
}

// Asks for room of half a ring, so that the peer rings seldom and still has the other half to read.
// Before the last look at the ring: see RingWriter::wake_at.
void PeerMessages::wish() {
    std::uint64_t at = RingWriter::kNever;
    const std::uint64_t capacity = out_.capacity();
    if (!sends_.empty()) {
        const std::uint64_t whole = sends_.front().left.size() + kLengthBytes;
        const std::uint64_t filled = out_.written() + std::min(whole, capacity / 2);
        at = std::max(filled, capacity) - capacity;
    }
    const std::int64_t place = awaited_send_ - num_sent_;
    if (place >= 0 && usize(place) < ends_.size()) at = std::min(at, ends_[usize(place)]);
    out_.wake_at(at);
}

std::string PeerMessages::lost(Look look) const {
    if (const auto reason = node_.box.head().left()) {
        return format("rank {} is gone: {}", peer_, *reason);
    }
    if (look == Look::memory || !has_hung_up(node_.socket)) return "";
    return format("rank {} is gone: its process has ended", peer_);
}

}  // namespace rm
