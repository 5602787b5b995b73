#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "engine/comm/message.h"
#include "engine/comm/transport/transport.h"

namespace rm {
namespace {

using Clock = std::chrono::steady_clock;

// Carries one direction between two ranks: the side that posts second copies the message from the
// sender's memory to the receiver's, and it is over `delay` later. Copies are made under the mutex,
// so no thread touches a side's memory after its leave() has returned.
class Channel {
public:
    Channel(int from, int to, Clock::duration delay) : ranks_{from, to}, delay_(delay) {}

    std::int64_t post_send(std::span<const std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        sends_.push_back(bytes);
        copy_matches();
        return num_sends_++;
    }

    std::int64_t post_recv(std::span<std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        recvs_.push_back(bytes);
        copy_matches();
        return num_recvs_++;
    }

    // Waits until message `index` of this side is over.
    Status wait(Direction side, std::int64_t index, Seconds timeout) {
        const Clock::time_point deadline = deadline_after(timeout);
        std::unique_lock lock(mutex_);
        while (true) {
            const Clock::time_point now = Clock::now();
            end_due(now);
            if (const auto& own = left_[usize(side)]) {
                return make_error(ErrorCode::aborted, "{}", *own);
            }
            if (index < num_over_) return {};
            const std::optional<Clock::time_point> due = due_time(index);
            if (!due && cannot_come(side)) return lost(side);
            if (now >= deadline) {
                return make_error(ErrorCode::deadline_exceeded, "timed out after {}",
                                  to_string(timeout));
            }
            changed_.wait_until(lock, due ? std::min(*due, deadline) : deadline);
        }
    }

    // Keeps the first reason.
    void leave(Direction side, const std::string& reason) {
        const std::lock_guard lock(mutex_);
        auto& left = left_[usize(side)];
        if (!left) left = reason;
        sends_.clear();
        recvs_.clear();
        changed_.notify_all();
    }

private:
    void end_due(Clock::time_point now) {
        while (!due_.empty() && due_.front() <= now) {
            due_.pop_front();
            ++num_over_;
        }
    }

    // Nullopt until the message has been copied.
    std::optional<Clock::time_point> due_time(std::int64_t index) const {
        const auto place = usize(index - num_over_);
        if (place >= due_.size()) return std::nullopt;
        return due_[place];
    }

    bool cannot_come(Direction side) const { return left_[1 - usize(side)] || !mismatch_.empty(); }

    Status lost(Direction side) const {
        const std::size_t other = 1 - usize(side);
        if (!left_[other]) return make_error(ErrorCode::internal, "{}", mismatch_);
        return make_error(ErrorCode::unavailable, "rank {} is gone: {}", ranks_[other],
                          *left_[other]);
    }

    void copy_matches() {
        while (!sends_.empty() && !recvs_.empty() && !left_[0] && !left_[1] && mismatch_.empty()) {
            const auto source = sends_.front();
            const auto target = recvs_.front();
            if (source.size() != target.size()) {
                mismatch_ = format("rank {} sends {} bytes where rank {} expects {}", ranks_[0],
                                   source.size(), ranks_[1], target.size());
            } else {
                if (!source.empty()) std::memcpy(target.data(), source.data(), source.size());
                sends_.pop_front();
                recvs_.pop_front();
                due_.push_back(Clock::now() + delay_);
            }
            changed_.notify_all();
        }
    }

    const std::array<int, 2> ranks_;  // indexed by Direction: the sender, the receiver
    const Clock::duration delay_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::span<const std::byte>> sends_;
    std::deque<std::span<std::byte>> recvs_;
    std::int64_t num_sends_ = 0;
    std::int64_t num_recvs_ = 0;
    std::int64_t num_over_ = 0;
    std::deque<Clock::time_point> due_;  // of the messages that are copied and not over, ascending
    std::string mismatch_;
    std::array<std::optional<std::string>, 2> left_;  // indexed by Direction: why that side left
};

}  // namespace

class LocalHub {
public:
    LocalHub(int num_ranks, LocalLinks links) : num_ranks_(num_ranks) {
        const std::chrono::duration<double> delay(links.delay.value);
        for (int from = 0; from < num_ranks; ++from) {
            for (int to = 0; to < num_ranks; ++to)
                channels_.emplace_back(from, to,
                                       std::chrono::duration_cast<Clock::duration>(delay));
        }
    }

    int num_ranks() const { return num_ranks_; }
    Channel& channel(int from, int to) {
        return channels_[usize(from) * usize(num_ranks_) + usize(to)];
    }

private:
    int num_ranks_;
    std::deque<Channel> channels_;  // a deque: channels do not move
};

namespace {

class LocalTransport final : public Transport {
public:
    LocalTransport(std::shared_ptr<LocalHub> hub, const TransportOptions& options)
        : Transport(options.peers, options.timeout), hub_(std::move(hub)), options_(options) {}
    ~LocalTransport() override { leave("its transport was closed"); }

    std::string_view name() const override { return "local"; }
    int rank() const override { return options_.rank; }
    int num_ranks() const override { return options_.num_ranks; }

    MessageHandle send(int to, std::span<const std::byte> bytes) override {
        const MessageInfo info{Direction::send, to, static_cast<std::int64_t>(bytes.size())};
        check_usable(info);
        return remember(info, channel(info).post_send(bytes));
    }

    MessageHandle recv(int from, std::span<std::byte> bytes) override {
        const MessageInfo info{Direction::recv, from, static_cast<std::int64_t>(bytes.size())};
        check_usable(info);
        return remember(info, channel(info).post_recv(bytes));
    }

    void wait(MessageHandle handle) override {
        const WaitTimer timer(waited_nanos_);
        const auto found = in_flight_.find(handle.id);
        RM_CHECK(found != in_flight_.end(), "message {} of rank {} is not in flight", handle.id,
                 options_.rank);
        const auto [info, index, posted] = found->second;
        in_flight_.erase(found);
        const ShownWait shown(options_, info.peer);
        const Status status = channel(info).wait(info.direction, index, timeout());
        if (!status) fail(info, status.error().message);
        if (info.direction == Direction::send) {
            bytes_sent_ += info.bytes;
        } else {
            bytes_received_ += info.bytes;
            arrivals_.over(info.peer, info.bytes, posted, Clock::now());
        }
    }

    void abort(const std::string& reason) override { leave(reason); }

private:
    struct InFlight {
        MessageInfo info;
        std::int64_t index;  // within its channel
        Clock::time_point posted = Clock::now();
    };

    Channel& channel(const MessageInfo& info) {
        return info.direction == Direction::send ? hub_->channel(options_.rank, info.peer)
                                                 : hub_->channel(info.peer, options_.rank);
    }

    MessageHandle remember(const MessageInfo& info, std::int64_t index) {
        in_flight_.emplace(next_id_, InFlight{info, index});
        return {next_id_++};
    }

    void check_usable(const MessageInfo& info) {
        check_peer(options_, info.peer);
        if (const auto fault = injected_fault(options_, info.direction)) fail(info, *fault);
        const std::lock_guard lock(mutex_);
        if (!reason_.empty()) throw_error(info, reason_);
    }

    void leave(const std::string& reason) {
        {
            const std::lock_guard lock(mutex_);
            if (reason_.empty()) reason_ = reason;
        }
        for (const int peer : options_.peers) {
            hub_->channel(options_.rank, peer).leave(Direction::send, reason);
            hub_->channel(peer, options_.rank).leave(Direction::recv, reason);
        }
    }

    [[noreturn]] void fail(const MessageInfo& info, const std::string& reason) {
        leave(reason);
        throw_error(info, reason);
    }

    [[noreturn]] void throw_error(const MessageInfo& info, const std::string& reason) const {
        throw TransportError(format("rank {} {}: {}", options_.rank, to_string(info), reason));
    }

    std::shared_ptr<LocalHub> hub_;  // owned by the transports of all ranks together
    const TransportOptions options_;
    std::map<std::int64_t, InFlight> in_flight_;
    std::int64_t next_id_ = 0;
    std::mutex mutex_;    // guards reason_
    std::string reason_;  // why this transport has ended; empty while it has not
};

}  // namespace

std::shared_ptr<LocalHub> make_local_hub(int num_ranks, LocalLinks links) {
    return std::make_shared<LocalHub>(num_ranks, links);
}

std::unique_ptr<Transport> make_local_transport(std::shared_ptr<LocalHub> hub,
                                                const TransportOptions& options) {
    check_options(options);
    RM_CHECK(options.num_ranks == hub->num_ranks(), "a transport of {} ranks on a hub of {}",
             options.num_ranks, hub->num_ranks());
    return std::make_unique<LocalTransport>(std::move(hub), options);
}

}  // namespace rm
