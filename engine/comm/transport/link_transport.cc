#include "engine/comm/transport/link_transport.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "engine/comm/message.h"
#include "engine/comm/shared/mover.h"

namespace rm {
namespace {

class LinkTransport final : public Transport {
public:
    LinkTransport(const std::string& address, const TransportOptions& options, RankLinks links)
        : Transport(options.peers, options.timeout),
          options_(options),
          address_(address),
          links_(std::move(links)) {
        if (links_.near && links_.far) mover_.emplace(*links_.near);
    }

    std::string_view name() const override { return "gloo"; }
    std::string description() const override {
        if (!links_.near) return "gloo";
        return links_.far ? "gloo, shared memory on the node" : "shared memory";
    }
    int rank() const override { return options_.rank; }
    int num_ranks() const override { return options_.num_ranks; }
    std::string address() const override { return address_; }

    std::vector<Connection> connections() const override {
        std::vector<Connection> all;
        if (links_.near) all = links_.near->connections();
        if (links_.far) {
            const std::vector<Connection> far = links_.far->connections();
            all.insert(all.end(), far.begin(), far.end());
        }
        std::sort(all.begin(), all.end(),
                  [](const auto& a, const auto& b) { return a.peer < b.peer; });
        return all;
    }

    MessageHandle send(int to, std::span<const std::byte> bytes) override {
        // Links take one type of pointer for both directions; they only read from a sender's.
        auto* data = const_cast<std::byte*>(bytes.data());
        return post({Direction::send, to, static_cast<std::int64_t>(bytes.size())}, data);
    }

    MessageHandle recv(int from, std::span<std::byte> bytes) override {
        return post({Direction::recv, from, static_cast<std::int64_t>(bytes.size())}, bytes.data());
    }

    void wait(MessageHandle handle) override {
        const WaitTimer timer(waited_nanos_);
        const auto found = in_flight_.find(handle.id);
        if (const auto reason = end_reason(); found == in_flight_.end() && !reason.empty()) {
            throw_error(format("has left: {}", reason));
        }
        RM_CHECK(found != in_flight_.end(), "message {} of rank {} is not in flight", handle.id,
                 options_.rank);
        const auto [info, number, posted] = found->second;
        const ShownWait shown(options_, info.peer);
        const Status over = wait_for(info, number);
        if (!over) fail(info, over.error().message);
        in_flight_.erase(found);
        if (info.direction == Direction::send) {
            bytes_sent_ += info.bytes;
        } else {
            bytes_received_ += info.bytes;
            arrivals_.over(info.peer, info.bytes, posted, Arrivals::Clock::now());
        }
    }

    void abort(const std::string& reason) override { end(reason); }

private:
    struct InFlight {
        MessageInfo info;
        std::int64_t number;  // its links'
        Arrivals::Clock::time_point posted;
    };

    MessageHandle post(const MessageInfo& info, std::byte* data) {
        check_peer(options_, info.peer);
        if (const auto fault = injected_fault(options_, info.direction)) fail(info, *fault);
        if (const auto reason = end_reason(); !reason.empty()) fail(info, reason);
        const auto posted = Arrivals::Clock::now();
        const auto number = links_to(info.peer).start(info, data);
        if (!number) fail(info, number.error().message);
        in_flight_.emplace(next_id_, InFlight{info, *number, posted});
        return {next_id_++};
    }

    bool is_near(int peer) const {
        const auto& near = links_.near_peers;
        return std::find(near.begin(), near.end(), peer) != near.end();
    }

    Links& links_to(int peer) {
        return is_near(peer) ? static_cast<Links&>(*links_.near) : *links_.far;
    }

    Status wait_for(const MessageInfo& info, std::int64_t number) {
        std::optional<Mover::Turn> turn;
        if (mover_ && !is_near(info.peer)) turn.emplace(*mover_);
        return links_to(info.peer).wait(info, number, timeout());
    }

    // Keeps the first reason. Links that another thread is ending have ended when this returns.
    void end(const std::string& reason) {
        {
            const std::lock_guard lock(mutex_);
            if (reason_.empty()) reason_ = reason;
        }
        const std::string first = end_reason();
        if (links_.near) links_.near->end(first);
        if (links_.far) links_.far->end(first);
    }

    std::string end_reason() {
        const std::lock_guard lock(mutex_);
        return reason_;
    }

    [[noreturn]] void fail(const MessageInfo& info, const std::string& reason) {
        end(reason);
        in_flight_.clear();
        throw_error(format("{}: {}", to_string(info), end_reason()));
    }

    [[noreturn]] void throw_error(const std::string& message) const {
        throw TransportError(format("rank {} {}", options_.rank, message));
    }

    const TransportOptions options_;
    const std::string address_;
    const RankLinks links_;
    std::map<std::int64_t, InFlight> in_flight_;
    std::int64_t next_id_ = 0;
    std::mutex mutex_;            // guards reason_
    std::string reason_;          // why this transport has ended; empty while it has not
    std::optional<Mover> mover_;  // last: ends before the links
};

}  // namespace

std::unique_ptr<Transport> make_link_transport(const std::string& address,
                                               const TransportOptions& options, RankLinks links) {
    return std::make_unique<LinkTransport>(address, options, std::move(links));
}

}  // namespace rm
