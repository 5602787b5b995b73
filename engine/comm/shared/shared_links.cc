#include "engine/comm/shared/shared_links.h"

#include <algorithm>
#include <chrono>

namespace rm {
namespace {

using Clock = std::chrono::steady_clock;

// How often a sleeper wakes to look at its peer's process: a killed one rings at no door.
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

SharedMemoryLinks::SharedMemoryLinks(int rank, Box box, std::map<int, NodePeer> peers)
    : box_(std::move(box)) {
    std::size_t ring = 0;
    for (auto& [peer, node] : peers) {
        peers_.try_emplace(peer, rank, peer, std::move(node), box_.reader(ring++));
    }
}

SharedMemoryLinks::~SharedMemoryLinks() {
    end("its transport was closed");
}

Result<std::int64_t> SharedMemoryLinks::start(const MessageInfo& info, std::byte* data) {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) return make_error(ErrorCode::aborted, "{}", reason_);
    PeerMessages& peer = peers_.at(info.peer);
    const std::span<std::byte> bytes(data, usize(info.bytes));
    const std::int64_t number =
        info.direction == Direction::send ? peer.send(bytes) : peer.recv(bytes);
    peer.move();
    return number;
}

Status SharedMemoryLinks::wait(const MessageInfo& info, std::int64_t number, Seconds timeout) {
    const Clock::time_point deadline = deadline_after(timeout);
    Clock::time_point looked = Clock::now();
    while (true) {
        const std::uint32_t heard = box_.head().bell.heard();
        const Clock::time_point now = Clock::now();
        const bool look = now - looked >= kLook;
        if (look) looked = now;
        using Look = PeerMessages::Look;
        RM_TRY(const State state, take_turn(info, number, look ? Look::socket : Look::memory));
        if (state == State::over) return {};
        if (state == State::moves) continue;
        if (now >= deadline) {
            return make_error(ErrorCode::deadline_exceeded, "timed out after {}",
                              to_string(timeout));
        }
        box_.head().bell.sleep(heard, std::min<Clock::duration>(kLook, deadline - now));
    }
}

Result<SharedMemoryLinks::State> SharedMemoryLinks::take_turn(const MessageInfo& info,
                                                              std::int64_t number,
                                                              PeerMessages::Look look) {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) return make_error(ErrorCode::aborted, "{}", reason_);
    PeerMessages& peer = peers_.at(info.peer);
    // Before the messages move: those that the peer has sent before it left count.
    const std::string lost = peer.lost(look);
    if (info.direction == Direction::send) peer.await_send(number);
    const bool moved = move();
    if (peer.is_over(info.direction, number)) return State::over;
    if (moved) return State::moves;
    if (!peer.mismatch().empty()) return make_error(ErrorCode::internal, "{}", peer.mismatch());
    if (!lost.empty()) return make_error(ErrorCode::unavailable, "{}", lost);
    return State::stands;
}

void SharedMemoryLinks::end(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) return;
    reason_ = reason;
    box_.head().leave(reason);
    for (auto& [rank, peer] : peers_) {
        peer.withdraw();
        peer.ring();
    }
    wake();
}

std::vector<Connection> SharedMemoryLinks::connections() const {
    std::vector<Connection> connections;
    for (const auto& [rank, peer] : peers_)
        connections.push_back({rank, std::string(kSharedMemory), std::string(kSharedMemory)});
    return connections;
}

bool SharedMemoryLinks::has_work() {
    const std::lock_guard lock(mutex_);
    return std::any_of(peers_.begin(), peers_.end(),
                       [](const auto& entry) { return entry.second.has_work(); });
}

void SharedMemoryLinks::move_or_sleep() {
    const std::uint32_t heard = box_.head().bell.heard();
    {
        const std::lock_guard lock(mutex_);
        if (move()) return;
    }
    box_.head().bell.sleep(heard, kLook);
}

bool SharedMemoryLinks::move() {
    bool moved = false;
    for (auto& [rank, peer] : peers_)
        moved = peer.move() || moved;
    return moved;
}

}  // namespace rm
