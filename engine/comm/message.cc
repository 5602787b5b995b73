#include "engine/comm/message.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "base/text.h"
#include "base/words.h"

namespace rm {

std::string to_string(const MessageInfo& message) {
    switch (message.direction) {
        case Direction::send:
            return format("sending {} bytes to rank {}", message.bytes, message.peer);
        case Direction::recv:
            return format("receiving {} bytes from rank {}", message.bytes, message.peer);
    }
    return "?";
}

void check_peer(const TransportOptions& options, int peer) {
    const auto& peers = options.peers;
    RM_CHECK(std::find(peers.begin(), peers.end(), peer) != peers.end(),
             "rank {} talks to rank {}, which is not one of its {} peers", options.rank, peer,
             peers.size());
}

void check_options(const TransportOptions& options) {
    RM_CHECK(options.rank >= 0 && options.rank < options.num_ranks,
             "rank {} is not in a transport of {} ranks", options.rank, options.num_ranks);
    for (const int peer : options.peers) {
        RM_CHECK(peer >= 0 && peer < options.num_ranks && peer != options.rank,
                 "rank {} has peer {}; a peer is another of {} ranks", options.rank, peer,
                 options.num_ranks);
    }
}

std::optional<std::string> injected_fault(const TransportOptions& options, Direction direction) {
    const std::string_view point =
        direction == Direction::send ? "transport.send" : "transport.recv";
    if (options.faults == nullptr || !options.faults->fires(point)) return std::nullopt;
    return format("injected fault at {}", point);
}

WaitTimer::~WaitTimer() {
    const auto spent = std::chrono::steady_clock::now() - start_;
    nanos_ += std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
}

std::chrono::steady_clock::time_point deadline_after(Seconds timeout) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double> seconds(timeout.value);
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
}

Status check_group_name(std::string_view group) {
    const bool ok = std::all_of(group.begin(), group.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_';
    });
    if (ok && !group.empty()) return {};
    return invalid_argument("exchange group '{}' must be letters, digits, '-' and '_'", group);
}

Error missing_ranks_error(std::string_view group, const std::vector<int>& missing, int num_ranks,
                          Seconds timeout) {
    constexpr std::size_t kMostNamed = 16;
    std::string names = join(std::span(missing).first(std::min(missing.size(), kMostNamed)));
    if (missing.size() > kMostNamed) {
        names += format(" and {} more", missing.size() - kMostNamed);
    }
    return make_error(ErrorCode::deadline_exceeded,
                      "exchange '{}': {} {} of {} {} not published within {}", group,
                      plural(missing.size(), "rank"), names, num_ranks,
                      missing.size() == 1 ? "has" : "have", timeout);
}

}  // namespace rm
