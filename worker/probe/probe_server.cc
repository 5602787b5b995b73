#include "worker/probe/probe_server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>

#include "worker/probe/arrivals.h"

namespace rm {
namespace {

// Time limit for a connection to greet, and then for the controller's announcement to arrive.
constexpr Seconds kPatience{2};

std::chrono::duration<double> span_of(Seconds seconds) {
    return std::chrono::duration<double>(seconds.value);
}

// Waits for callers at these listeners, or until those are shut down.
std::vector<UniqueFd> next_callers(std::vector<pollfd>& listeners) {
    ::poll(listeners.data(), listeners.size(), -1);
    std::vector<UniqueFd> callers;
    for (const pollfd& listener : listeners) {
        if (listener.revents == 0) continue;
        UniqueFd socket(::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC));
        if (socket) {
            callers.push_back(std::move(socket));
        } else {
            // Out of descriptors: those in use are freed within seconds.
            std::this_thread::yield();
        }
    }
    return callers;
}

}  // namespace

Result<std::unique_ptr<ProbeServer>> ProbeServer::start(const std::vector<std::string>& addresses,
                                                        PortRange ports) {
    RM_TRY(std::vector<UniqueFd> listeners, listen_in(addresses, ports));
    RM_TRY(const int port, port_of(listeners.front()));
    return std::unique_ptr<ProbeServer>(new ProbeServer(std::move(listeners), port));
}

ProbeServer::ProbeServer(std::vector<UniqueFd> listeners, int port)
    : listeners_(std::move(listeners)), port_(port), accepting_([this] { accept_all(); }) {}

ProbeServer::~ProbeServer() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        for (const Connection& connection : connections_)
            ::shutdown(connection.socket.get(), SHUT_RDWR);
        visits_.clear();
        changed_.notify_all();
    }
    for (const UniqueFd& listener : listeners_)
        ::shutdown(listener.get(), SHUT_RDWR);
    accepting_.join();
    for (Connection& connection : connections_)
        connection.thread.join();
}

void ProbeServer::expect(const ExpectProbe& announced) {
    if (announced.nonce.size() != kNonceBytes) return;
    Nonce nonce;
    std::copy(announced.nonce.begin(), announced.nonce.end(), nonce.begin());
    const MonoTime now = clock_.mono();
    const std::lock_guard lock(mutex_);
    std::erase_if(visits_, [&](const auto& entry) { return entry.second.until < now; });
    visits_[nonce].until = {now.nanos + static_cast<std::int64_t>(announced.valid.value * 1e9)};
    changed_.notify_all();
}

void ProbeServer::accept_all() {
    std::vector<pollfd> waiting;
    for (const UniqueFd& listener : listeners_)
        waiting.push_back({.fd = listener.get(), .events = POLLIN, .revents = 0});
    while (true) {
        std::vector<UniqueFd> callers = next_callers(waiting);
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        reap();
        for (UniqueFd& socket : callers) {
            if (static_cast<int>(connections_.size()) < kMaxConnections) admit(std::move(socket));
        }
    }
}

void ProbeServer::admit(UniqueFd socket) {
    Connection& connection = connections_.emplace_back();
    connection.socket = std::move(socket);
    connection.thread = std::thread([this, &connection] { serve(connection); });
}

void ProbeServer::reap() {
    for (auto it = connections_.begin(); it != connections_.end();) {
        if (!it->ended) {
            ++it;
            continue;
        }
        it->thread.join();
        it = connections_.erase(it);
    }
}

void ProbeServer::serve(Connection& connection) {
    set_patience(connection.socket, kPatience);
    ProbeGreeting greeting;
    const bool known = receive_plain(connection.socket, greeting) &&
                       greeting.magic == ProbeGreeting().magic &&
                       wait_for_announcement(greeting.nonce);
    if (known && greeting.role == ProbeRole::data) {
        // From here on the sample owns a copy of the descriptor: the destructor shuts down this
        // one.
        keep_data(greeting.nonce, UniqueFd(::dup(connection.socket.get())));
    } else if (known) {
        serve_control(connection.socket, greeting.nonce);
    }
    const std::lock_guard lock(mutex_);
    connection.socket.reset();
    connection.ended = true;
}

bool ProbeServer::wait_for_announcement(const Nonce& nonce) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, span_of(kPatience),
                      [&] { return stopping_ || visits_.contains(nonce); });
    const auto visit = visits_.find(nonce);
    return visit != visits_.end() && clock_.mono() < visit->second.until;
}

void ProbeServer::keep_data(const Nonce& nonce, UniqueFd socket) {
    const std::lock_guard lock(mutex_);
    const auto visit = visits_.find(nonce);
    const bool wanted =
        visit != visits_.end() && visit->second.waiting.size() < std::size_t{kMaxProbeStreams};
    if (!wanted) return;
    visit->second.waiting.push_back(std::move(socket));
    changed_.notify_all();
}

void ProbeServer::serve_control(const UniqueFd& socket, const Nonce& nonce) {
    MonoTime until;
    {
        const std::lock_guard lock(mutex_);
        const auto visit = visits_.find(nonce);
        if (visit == visits_.end() || std::exchange(visit->second.greeted, true)) return;
        until = visit->second.until;
    }
    ProbeMessage message;
    while (clock_.mono() < until && receive_plain(socket, message)) {
        const bool done = message.op == ProbeOp::ping     ? send_plain(socket, message)
                          : message.op == ProbeOp::sample ? serve_sample(socket, nonce, message)
                                                          : false;
        if (!done) break;
    }
    const std::lock_guard lock(mutex_);
    visits_.erase(nonce);
}

bool ProbeServer::serve_sample(const UniqueFd& control, const Nonce& nonce,
                               const ProbeMessage& wanted) {
    const Seconds span{static_cast<double>(wanted.micros) * 1e-6};
    if (wanted.streams < 1 || wanted.streams > kMaxProbeStreams || span > kLongestSample) {
        return false;
    }
    const std::vector<UniqueFd> sockets = take_data(nonce, wanted.streams);
    if (sockets.size() != wanted.streams) return false;
    if (!send_plain(control, ProbeMessage{.op = ProbeOp::go})) return false;
    return send_plain(control, count_arrivals(sockets, span));
}

std::vector<UniqueFd> ProbeServer::take_data(const Nonce& nonce, std::size_t count) {
    std::unique_lock lock(mutex_);
    const auto all_there = [&] {
        const auto visit = visits_.find(nonce);
        return stopping_ || visit == visits_.end() || visit->second.waiting.size() >= count;
    };
    changed_.wait_for(lock, span_of(kPatience), all_there);
    const auto visit = visits_.find(nonce);
    if (visit == visits_.end()) return {};
    return std::exchange(visit->second.waiting, {});
}

}  // namespace rm
