#include <gloo/transport/context.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "engine/comm/message.h"
#include "engine/comm/transport/blocked_signals.h"
#include "engine/comm/transport/gloo_contexts.h"
#include "engine/comm/transport/links.h"
#include "engine/comm/transport/local_address.h"
#include "engine/comm/transport/pair_table.h"

namespace rm {
namespace {

using GlooBuffer = gloo::transport::UnboundBuffer;
using Milliseconds = std::chrono::milliseconds;

// gloo's own timeout would close every pair and blame "another operation"; ours ends the wait.
constexpr Milliseconds kGlooWaitsForever = std::chrono::hours(24 * 365);
// How often a waiting thread wakes to look at its deadline and at its peer.
constexpr Milliseconds kNudgeInterval{100};

// Messages match by slot. It holds the pair's running number and the length, so that the two sides
// of a message agree on both: a longer payload than the receiver's would end gloo's thread and the
// process.
constexpr int kLengthBits = 40;
constexpr std::uint64_t kProbeSlot = std::numeric_limits<std::uint64_t>::max();

std::uint64_t message_slot(std::uint64_t number, std::size_t bytes) {
    RM_CHECK(bytes < (std::size_t{1} << kLengthBits) - 1, "a message of {} bytes is too long",
             bytes);
    return (number << kLengthBits) | bytes;
}

// Strips the place in gloo's source with which gloo's messages begin.
std::string_view reason_of(const std::exception& failure) {
    const std::string_view text = failure.what();
    const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
    return end == std::string_view::npos ? text : text.substr(end + 2);
}

// Says why connecting failed, without the address that gloo's messages repeat. Where no answer
// came, a firewall may have dropped the packets.
std::string connect_reason(const std::exception& failure, const TransportOptions& options) {
    const std::string text(reason_of(failure));
    if (text.starts_with("Connect timeout")) {
        return format(
            "no answer within {}; a firewall between the two must let TCP {} through, "
            "both ways",
            options.timeout,
            options.ports.is_any() ? "on any port" : "ports " + to_string(options.ports));
    }
    const std::size_t end = text.starts_with("connect [") ? text.find(": ") : std::string::npos;
    return end == std::string::npos ? text : text.substr(end + 2);
}

std::string text_of(const gloo::transport::Address& address) {
    return to_string(gloo::transport::tcp::Address(address.bytes()).getSockaddr());
}

// One message in flight: gloo's buffer can take part in one operation only.
struct Message {
    MessageInfo info;
    std::unique_ptr<GlooBuffer> buffer;
    Arrivals::Clock::time_point posted = Arrivals::Clock::now();

    bool wait(Milliseconds timeout) const {
        return info.direction == Direction::send ? buffer->waitSend(timeout)
                                                 : buffer->waitRecv(timeout);
    }
    void nudge() const {
        info.direction == Direction::send ? buffer->abortWaitSend() : buffer->abortWaitRecv();
    }
};

struct Peer {
    std::uint64_t num_sends = 0;
    std::uint64_t num_recvs = 0;
    std::string address;                                // where it has listened for this rank
    std::shared_ptr<gloo::transport::Context> context;  // of the pair with it
    gloo::transport::Pair& pair(int rank) const { return *context->getPair(rank); }
    // gloo reports a broken connection to the messages that wait for their turn, not to the one
    // whose bytes are on the wire. No peer answers the probe's receive, so gloo always reports it.
    char probe_byte = 0;
    std::unique_ptr<GlooBuffer> probe;
};

class GlooLinks final : public Links {
public:
    GlooLinks(const std::string& address, Exchange& exchange, const TransportOptions& options)
        : options_(options) {
        listen(address);
        {
            const BlockedSignals blocked = BlockedSignals::all();  // for the thread
            nudger_ = std::jthread([this](const std::stop_token& stop) { nudge_regularly(stop); });
        }
        connect(exchange);
        greet_peers();
        find_connections();
        const std::lock_guard lock(mutex_);
        meeting_ = false;
    }

    ~GlooLinks() override {
        // A message in flight at this point belongs to memory that may be gone.
        if (!in_flight_.empty()) close_pairs();
    }

    std::vector<Connection> connections() const override { return connections_; }

    Result<std::int64_t> start(const MessageInfo& info, std::byte* data) override {
        const auto size = usize(info.bytes);
        Peer& peer = peers_.at(info.peer);
        const BlockedSignals blocked = BlockedSignals::sigpipe();
        const bool sends = info.direction == Direction::send;
        const std::uint64_t number = sends ? peer.num_sends++ : peer.num_recvs++;
        try {
            // gloo has one type of buffer for both directions; it only reads from a sender's.
            const auto added =
                in_flight_.emplace(Key{info.peer, info.direction, number},
                                   Message{info, peer.context->createUnboundBuffer(data, size)});
            GlooBuffer& buffer = *added.first->second.buffer;
            const std::uint64_t slot = message_slot(number, size);
            sends ? buffer.send(info.peer, slot, 0, size) : buffer.recv(info.peer, slot, 0, size);
        } catch (const std::exception& failure) {
            return gone(info, failure);
        }
        return static_cast<std::int64_t>(number);
    }

    Status wait(const MessageInfo& info, std::int64_t number, Seconds timeout) override {
        const auto found = in_flight_.find({info.peer, info.direction, usize(number)});
        const Message& message = found->second;
        const auto deadline = deadline_after(timeout);
        while (true) {
            RM_TRY(const bool over, wait_until_nudged(message));
            if (over) break;
            RM_TRY(const bool over_before_the_end, peer_is_lost(message));
            if (over_before_the_end) break;
            if (std::chrono::steady_clock::now() < deadline) continue;
            return make_error(ErrorCode::deadline_exceeded, "timed out after {}",
                              to_string(timeout));
        }
        in_flight_.erase(found);
        return {};
    }

    void end(const std::string& reason) override {
        {
            const std::lock_guard lock(mutex_);
            if (reason_.empty()) reason_ = reason;
            if (waiting_ != nullptr) waiting_->nudge();
        }
        // Also while another thread does so: only then may the caller free its memory.
        close_pairs();
    }

private:
    void listen(const std::string& address) {
        try {
            GlooContexts contexts(address, options_);
            for (const int rank : options_.peers)
                peers_[rank].context = contexts.with_pair(rank);
        } catch (const std::exception& failure) {
            throw_error(format("cannot listen on {}: {}", address, reason_of(failure)));
        }
    }

    void connect(Exchange& exchange) {
        auto table =
            exchange.exchange("gloo", encode_pair_table(own_addresses()), options_.timeout);
        if (!table) throw_error(table.error().message);
        for (auto& [rank, peer] : peers_) {
            connect_to(rank, peer, (*table)[usize(rank)]);
        }
    }

    PairTable own_addresses() const {
        PairTable table;
        for (const auto& [rank, peer] : peers_) {
            const std::vector<char> bytes = peer.pair(rank).address().bytes();
            table[rank] = std::string(bytes.begin(), bytes.end());
        }
        return table;
    }

    // Every rank connects to its peers in ascending order. A wait for a lower rank ends first, so
    // the order has no cycle.
    void connect_to(int rank, Peer& peer, const std::string& blob) {
        const Result<PairTable> table = decode_pair_table(blob);
        if (!table) throw_error(format("rank {}: {}", rank, table.error().message));
        const auto entry = table->find(options_.rank);
        if (entry == table->end()) {
            throw_error(format("rank {} does not list this rank as a peer", rank));
        }
        const auto started = std::chrono::steady_clock::now();
        try {
            const std::vector<char> address(entry->second.begin(), entry->second.end());
            peer.address = to_string(gloo::transport::tcp::Address(address).getSockaddr());
            peer.pair(rank).connect(address);
            const BlockedSignals blocked = BlockedSignals::sigpipe();
            peer.probe = peer.context->createUnboundBuffer(&peer.probe_byte, 1);
            peer.probe->recv(rank, kProbeSlot, 0, 1);
        } catch (const std::exception& failure) {
            if (const auto reason = end_reason(); !reason.empty()) throw_error(reason);
            const std::chrono::duration<double> tried = std::chrono::steady_clock::now() - started;
            throw_error(format("could not connect to rank {}{} in {}: {}", rank,
                               peer.address.empty() ? "" : " at " + peer.address,
                               to_string(Seconds{tried.count()}),
                               connect_reason(failure, options_)));
        }
    }

    // Exchanges one byte with every peer. Otherwise a rank that ends before a peer has connected
    // would look to that peer like a failed connection.
    void greet_peers() {
        std::vector<std::byte> bytes(2 * peers_.size());
        std::vector<std::pair<MessageInfo, std::int64_t>> greetings;
        for (const auto& [rank, peer] : peers_) {
            for (const Direction direction : {Direction::recv, Direction::send}) {
                const MessageInfo info{direction, rank, 1};
                const auto number = start(info, &bytes[greetings.size()]);
                if (!number) fail_greeting(info, number.error());
                greetings.emplace_back(info, *number);
            }
        }
        for (const auto& [info, number] : greetings) {
            const Status met = wait(info, number, options_.timeout);
            if (!met) fail_greeting(info, met.error());
        }
    }

    // gloo does not say what its pairs are connected to. Both ranks of a pair listen on a port for
    // it alone, and one connects to the other's: its socket has that port at one of its ends.
    void find_connections() {
        const std::vector<SocketEnds> sockets = connected_sockets();
        const auto find = [&](const std::string SocketEnds::*end, const std::string& address) {
            return std::find_if(sockets.begin(), sockets.end(),
                                [&](const SocketEnds& ends) { return ends.*end == address; });
        };
        for (const auto& [rank, peer] : peers_) {
            auto found = find(&SocketEnds::other, peer.address);
            if (found == sockets.end()) {
                found = find(&SocketEnds::own, text_of(peer.pair(rank).address()));
            }
            if (found == sockets.end()) continue;
            connections_.push_back({rank, found->own, found->other});
        }
    }

    // True when the message is over; false after a nudge, which the nudger sends at intervals and
    // end() sends once.
    Result<bool> wait_until_nudged(const Message& message) {
        if (!announce(&message)) return make_error(ErrorCode::aborted, "{}", end_reason());
        try {
            const bool over = message.wait(kGlooWaitsForever);
            announce(nullptr);
            return over;
        } catch (const std::exception& failure) {
            announce(nullptr);
            return gone(message.info, failure);
        }
    }

    // Tells the nudgers which message is waited for; false when these links have ended.
    bool announce(const Message* message) {
        const std::lock_guard lock(mutex_);
        if (message != nullptr && !reason_.empty()) return false;
        waiting_ = message;
        return true;
    }

    // True when the message was over before its peer went; an error when it was not.
    Result<bool> peer_is_lost(const Message& message) {
        GlooBuffer& probe = *peers_.at(message.info.peer).probe;
        try {
            probe.abortWaitRecv();
            probe.waitRecv(kGlooWaitsForever);  // returns at once, or throws what ended the pair
            return false;
        } catch (const std::exception& lost) {
            // Nothing more arrives; gloo has handled all that arrived before the end.
            if (is_over(message)) return true;
            return gone(message.info, lost);
        }
    }

    static bool is_over(const Message& message) {
        try {
            return message.wait(Milliseconds(1));
        } catch (const std::exception&) {
            return false;
        }
    }

    void nudge_regularly(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            stopped_.wait_for(lock, stop, kNudgeInterval, [] { return false; });
            if (waiting_ != nullptr) waiting_->nudge();
            if (!meeting_ || options_.stop == nullptr || !options_.stop->load()) continue;
            meeting_ = false;
            lock.unlock();
            end("asked to stop before the ranks had met");
            lock.lock();
        }
    }

    std::string end_reason() {
        const std::lock_guard lock(mutex_);
        return reason_;
    }

    // After this gloo touches no message's memory, and the peers' connections are reset.
    void close_pairs() {
        for (const auto& [rank, peer] : peers_)
            peer.pair(rank).close();
    }

    static Error gone(const MessageInfo& info, const std::exception& failure) {
        return make_error(ErrorCode::unavailable, "rank {} is gone: {}", info.peer,
                          reason_of(failure));
    }

    // The greetings' memory goes with the caller.
    [[noreturn]] void fail_greeting(const MessageInfo& info, const Error& error) {
        end(error.message);
        throw_error(format("{}: {}", to_string(info), end_reason()));
    }
    [[noreturn]] void throw_error(const std::string& message) const {
        throw TransportError(format("rank {} {}", options_.rank, message));
    }

    const TransportOptions options_;
    std::vector<Connection> connections_;  // empty until all are there
    // Destroyed in reverse: messages, then probes and pairs with gloo's devices and threads. gloo's
    // contexts own their devices, and its buffers own their contexts.
    std::map<int, Peer> peers_;
    using Key = std::tuple<int, Direction, std::uint64_t>;  // the peer, and the message's number
    std::map<Key, Message> in_flight_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable_any stopped_;
    std::string reason_;                // why these links have ended; empty while they have not
    const Message* waiting_ = nullptr;  // what the communication thread waits for
    bool meeting_ = true;               // until every peer has answered
    std::jthread nudger_;               // last: ends before the rest
};

}  // namespace

std::unique_ptr<Links> make_gloo_links(const std::string& address, Exchange& exchange,
                                       const TransportOptions& options) {
    return std::make_unique<GlooLinks>(address, exchange, options);
}

}  // namespace rm
