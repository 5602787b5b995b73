#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/comm/transport/transport.h"

// Shared by the transports and exchanges: how a message is named in errors, and small checks.
namespace rm {

enum class Direction { send = 0, recv = 1 };

struct MessageInfo {
    Direction direction = Direction::send;
    int peer = 0;
    std::int64_t bytes = 0;
};
std::string to_string(const MessageInfo& message);  // receiving 4096 bytes from rank 2

// A peer is one of `options.peers`; anything else is a broken invariant of the caller.
void check_peer(const TransportOptions& options, int peer);
void check_options(const TransportOptions& options);

// "injected fault at transport.send" when that point fires.
std::optional<std::string> injected_fault(const TransportOptions& options, Direction direction);

// Shows `peer` in TransportOptions::waits_for while it lives.
class ShownWait {
public:
    ShownWait(const TransportOptions& options, int peer) : waits_for_(options.waits_for) {
        if (waits_for_ != nullptr) *waits_for_ = peer + 1;
    }
    ShownWait(const ShownWait&) = delete;
    ShownWait& operator=(const ShownWait&) = delete;
    ~ShownWait() {
        if (waits_for_ != nullptr) *waits_for_ = 0;
    }

private:
    std::atomic<std::int32_t>* waits_for_;
};

// Adds its lifetime to a counter of nanoseconds.
class WaitTimer {
public:
    explicit WaitTimer(std::atomic<std::int64_t>& nanos) : nanos_(nanos) {}
    WaitTimer(const WaitTimer&) = delete;
    WaitTimer& operator=(const WaitTimer&) = delete;
    ~WaitTimer();

private:
    std::atomic<std::int64_t>& nanos_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::chrono::steady_clock::time_point deadline_after(Seconds timeout);

Status check_group_name(std::string_view group);
// exchange 'gloo': ranks 1, 3 of 4 have not published within 5 s
Error missing_ranks_error(std::string_view group, const std::vector<int>& missing, int num_ranks,
                          Seconds timeout);

}  // namespace rm
