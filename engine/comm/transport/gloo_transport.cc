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

#include "engine/comm/message.h"
#include "engine/comm/transport/blocked_signals.h"
#include "engine/comm/transport/gloo_contexts.h"
#include "engine/comm/transport/local_address.h"
#include "engine/comm/transport/pair_table.h"
#include "engine/comm/transport/transport.h"

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

class GlooTransport final : public Transport {
public:
    GlooTransport(const std::string& address, Exchange& exchange, const TransportOptions& options)
        : Transport(options.peers, options.timeout), options_(options), address_(address) {
        listen(address, exchange);
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

    ~GlooTransport() override {
        // A message in flight at this point belongs to memory that may be gone.
        if (!in_flight_.empty()) close_pairs();
    }

    std::string_view name() const override { return "gloo"; }
    int rank() const override { return options_.rank; }
    int num_ranks() const override { return options_.num_ranks; }
    std::string address() const override { return address_; }
    std::vector<Connection> connections() const override { return connections_; }

    MessageHandle send(int to, std::span<const std::byte> bytes) override {
        // gloo has one type of buffer for both directions; it only reads from this one.
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
        const Message& message = found->second;
        const ShownWait shown(options_, message.info.peer);
        const auto deadline = deadline_after(timeout());
        while (!wait_until_nudged(message)) {
            if (peer_is_lost(message)) break;
            if (std::chrono::steady_clock::now() < deadline) continue;
            fail(message.info, format("timed out after {}", to_string(timeout())));
        }
        const MessageInfo info = message.info;
        const auto posted = message.posted;
        in_flight_.erase(found);
        if (info.direction == Direction::send) {
            bytes_sent_ += info.bytes;
        } else {
            bytes_received_ += info.bytes;
            arrivals_.over(info.peer, info.bytes, posted, Arrivals::Clock::now());
        }
    }

    void abort(const std::string& reason) override {
        end(reason);
        close_pairs();
    }

private:
    void listen(const std::string& address, Exchange& exchange) {
        if (const Status local = check_local_address(address); !local) {
            throw_error(local.error().message);
        }
        const std::vector<std::string> addresses = addresses_of_ranks(exchange);
        try {
            open_pairs(addresses);
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

    // By rank; without a range of ports the addresses of other ranks do not matter.
    std::vector<std::string> addresses_of_ranks(Exchange& exchange) {
        if (options_.ports.is_any() || options_.num_ranks == 1)
            return std::vector<std::string>(usize(options_.num_ranks), address_);
        auto addresses = exchange.exchange("address", address_, options_.timeout);
        if (!addresses) throw_error(addresses.error().message);
        return *std::move(addresses);
    }

    void open_pairs(const std::vector<std::string>& addresses) {
        GlooContexts contexts(address_, options_);
        for (const int rank : options_.peers) {
            const std::string& at = addresses[usize(rank)];
            peers_[rank].context = contexts.with_pair(rank, at);
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
        std::vector<std::byte> out(peers_.size());
        std::vector<std::byte> in(peers_.size());
        std::vector<MessageHandle> handles;
        for (const auto& [rank, peer] : peers_) {
            const std::size_t i = handles.size() / 2;
            handles.push_back(start({Direction::recv, rank, 1}, &in[i]));
            handles.push_back(start({Direction::send, rank, 1}, &out[i]));
        }
        for (const MessageHandle handle : handles)
            wait(handle);
        bytes_sent_ = 0;
        bytes_received_ = 0;
        waited_nanos_ = 0;
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

    MessageHandle post(const MessageInfo& info, std::byte* data) {
        check_peer(options_, info.peer);
        if (const auto fault = injected_fault(options_, info.direction)) fail(info, *fault);
        if (const auto reason = end_reason(); !reason.empty()) fail(info, reason);
        return start(info, data);
    }

    MessageHandle start(const MessageInfo& info, std::byte* data) {
        const auto size = usize(info.bytes);
        Peer& peer = peers_.at(info.peer);
        const BlockedSignals blocked = BlockedSignals::sigpipe();
        try {
            const auto [place, added] = in_flight_.emplace(
                next_id_, Message{info, peer.context->createUnboundBuffer(data, size)});
            GlooBuffer& buffer = *place->second.buffer;
            if (info.direction == Direction::send) {
                buffer.send(info.peer, message_slot(peer.num_sends++, size), 0, size);
            } else {
                buffer.recv(info.peer, message_slot(peer.num_recvs++, size), 0, size);
            }
        } catch (const std::exception& failure) {
            fail_peer(info, failure);
        }
        return {next_id_++};
    }

    // True when the message is over; false after a nudge, which the nudger sends at intervals and
    // abort() sends once.
    bool wait_until_nudged(const Message& message) {
        if (!announce(&message)) fail(message.info, end_reason());
        try {
            const bool over = message.wait(kGlooWaitsForever);
            announce(nullptr);
            return over;
        } catch (const std::exception& failure) {
            announce(nullptr);
            fail_peer(message.info, failure);
        }
    }

    // Tells the nudgers which message is waited for; false when the transport has ended.
    bool announce(const Message* message) {
        const std::lock_guard lock(mutex_);
        if (message != nullptr && !reason_.empty()) return false;
        waiting_ = message;
        return true;
    }

    // Returns true when the message was over before its peer went; throws when it was not.
    bool peer_is_lost(const Message& message) {
        GlooBuffer& probe = *peers_.at(message.info.peer).probe;
        try {
            probe.abortWaitRecv();
            probe.waitRecv(kGlooWaitsForever);  // returns at once, or throws what ended the pair
            return false;
        } catch (const std::exception& lost) {
            // Nothing more arrives; gloo has handled all that arrived before the end.
            if (is_over(message)) return true;
            fail_peer(message.info, lost);
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
            abort("asked to stop before the ranks had met");
            lock.lock();
        }
    }

    // Keeps the first reason.
    void end(const std::string& reason) {
        const std::lock_guard lock(mutex_);
        if (reason_.empty()) reason_ = reason;
        if (waiting_ != nullptr) waiting_->nudge();
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

    // Closes the pairs even while abort() does so: only then may the caller free its memory.
    // `info` by value: the message it may belong to is destroyed here.
    [[noreturn]] void fail(MessageInfo info, const std::string& reason) {
        end(reason);
        close_pairs();
        in_flight_.clear();
        throw_error(info, end_reason());
    }

    [[noreturn]] void fail_peer(const MessageInfo& info, const std::exception& failure) {
        fail(info, format("rank {} is gone: {}", info.peer, reason_of(failure)));
    }

    [[noreturn]] void throw_error(const MessageInfo& info, const std::string& reason) const {
        throw_error(format("{}: {}", to_string(info), reason));
    }
    [[noreturn]] void throw_error(const std::string& message) const {
        throw TransportError(format("rank {} {}", options_.rank, message));
    }

    const TransportOptions options_;
    const std::string address_;
    std::vector<Connection> connections_;  // empty until all are there
    // Destroyed in reverse: messages, then probes and pairs with gloo's devices and threads. gloo's
    // contexts own their devices, and its buffers own their contexts.
    std::map<int, Peer> peers_;
    std::map<std::int64_t, Message> in_flight_;
    std::int64_t next_id_ = 0;

    std::mutex mutex_;  // guards what follows
    std::condition_variable_any stopped_;
    std::string reason_;                // why this transport has ended; empty while it has not
    const Message* waiting_ = nullptr;  // what the communication thread waits for
    bool meeting_ = true;               // until every peer has answered
    std::jthread nudger_;               // last: ends before the rest
};

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(const std::string& address, Exchange& exchange,
                                               const TransportOptions& options) {
    check_options(options);
    return std::make_unique<GlooTransport>(address, exchange, options);
}

}  // namespace rm
