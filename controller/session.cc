#include "controller/session.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "controller/core/input.h"

namespace rm {
namespace {

// How long a worker may take to read why its session has ended.
constexpr Seconds kFarewell{1};

std::chrono::steady_clock::duration span_of(Seconds seconds) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds.value));
}

SteadyTime steady_now() {
    return std::chrono::steady_clock::now();
}

Error shutting_down() {
    return make_error(ErrorCode::unavailable, "the controller is shutting down");
}

}  // namespace

Session::Session(SessionLink& link, std::string peer, const SessionContext& context, SteadyTime now)
    : link_(&link), peer_(std::move(peer)), context_(context), began_(now) {}

bool Session::take(WorkerMessage message) {
    std::unique_lock lock(mutex_);
    if (ended_) return false;
    if (!claimed_) {
        const auto* hello = std::get_if<Hello>(&message);
        if (hello != nullptr) return greet(lock, *hello);
        finish(invalid_argument("the first message must be a hello"));
        return false;
    }
    return take_later(std::move(message));
}

bool Session::greet(std::unique_lock<std::mutex>& lock, const Hello& hello) {
    if (const Status admitted = admit(hello); !admitted) return finish(admitted), false;
    const HelloReply reply{.cluster = context_.cluster,
                           .protocol = hello.protocol,
                           .ping_interval = context_.options.ping_interval};
    // The answer may arrive at once or after this session has ended, so it co-owns the session.
    announcing_ = true;
    lock.unlock();
    context_.inputs.post(NodeHello{hello},
                         [self = shared_from_this(), reply](const Result<JobId>& answer) {
                             self->answered(reply, answer);
                         });
    lock.lock();
    announcing_ = false;
    if (ends_with_) finish(*ends_with_);
    return !ended_;
}

Status Session::admit(const Hello& hello) {
    RM_RETURN_IF_ERROR(check_hello(hello, context_.cluster));
    // Every peer on a Unix socket has the same address: the host name tells them apart.
    const std::string peer = format("{} ({})", peer_, hello.inventory.hostname);
    const Status claimed = context_.registry.claim(hello.node, peer, shared_from_this());
    if (!claimed) {
        if (claimed.error().code == ErrorCode::failed_precondition && link_ != nullptr)
            link_->claimed_elsewhere(hello.node, claimed);
        return claimed;
    }
    node_ = hello.node;
    claimed_ = true;
    return {};
}

void Session::answered(const HelloReply& reply, const Result<JobId>& answer) {
    const std::lock_guard lock(mutex_);
    if (ended_ || ends_with_) return;
    if (!answer) return finish(answer.error());
    open_ = true;
    alive_ = steady_now();
    link_->write(reply);
}

bool Session::take_later(WorkerMessage message) {
    if (const auto* pong = std::get_if<Pong>(&message)) {
        echo(pong->nonce);
    } else if (auto* status = std::get_if<AttemptStatus>(&message)) {
        take_status(std::move(*status));
    } else if (auto* refused = std::get_if<CommandRefused>(&message)) {
        context_.inputs.post(NodeRefused{node_, std::move(*refused)});
    } else if (auto* roots = std::get_if<RootsReport>(&message)) {
        context_.inputs.post(NodeRoots{node_, std::move(*roots)});
    } else if (auto* devices = std::get_if<DevicesReport>(&message)) {
        context_.inputs.post(NodeDevices{node_, std::move(*devices)});
    } else if (auto* checked = std::get_if<FilesChecked>(&message)) {
        context_.inputs.post(NodeFilesChecked{node_, std::move(*checked)});
    } else if (auto* probed = std::get_if<RootProbed>(&message)) {
        context_.inputs.post(NodeRootProbed{node_, std::move(*probed)});
    } else if (auto* probe = std::get_if<ProbeReport>(&message)) {
        if (context_.probed) context_.probed(node_, std::move(*probe));
    } else {
        finish(invalid_argument("a session has only one hello, its first message"));
    }
    return !ended_;
}

void Session::take_status(AttemptStatus status) {
    if (const Status id = check_job_id(status.job); !id) return finish(id);
    context_.inputs.post(NodeStatus{node_, std::move(status)});
}

void Session::echo(std::uint64_t nonce) {
    const auto it = pings_.find(nonce);
    if (it == pings_.end()) return;
    // An echo proves life at the time its ping was sent, not when the echo arrived.
    alive_ = it->second;
    pings_.erase(pings_.begin(), std::next(it));
}

void Session::closed() {
    const std::lock_guard lock(mutex_);
    if (claimed_) return finish({});
    finish(make_error(ErrorCode::cancelled, "it ended before a hello"));
}

void Session::detach() {
    const std::lock_guard lock(mutex_);
    link_ = nullptr;
}

void Session::send(const ControllerMessage& command) {
    const std::lock_guard lock(mutex_);
    if (open_ && !ended_) link_->write(command);
}

void Session::end(Error because) {
    const std::lock_guard lock(mutex_);
    finish(because);
}

SteadyTime Session::beat(SteadyTime now) {
    const std::lock_guard lock(mutex_);
    if (ended_) {
        const SteadyTime farewell = ended_at_ + span_of(kFarewell);
        if (link_ == nullptr) return SteadyTime::max();
        if (now < farewell) return farewell;
        return link_->cancel(), SteadyTime::max();
    }
    const SteadyTime hello_deadline = began_ + span_of(context_.options.hello_timeout);
    if (open_) {
        ping(now);
    } else if (!claimed_ && now >= hello_deadline) {
        finish(make_error(ErrorCode::deadline_exceeded, "no hello within {}",
                          context_.options.hello_timeout));
    }
    if (ended_) return ended_at_ + span_of(kFarewell);
    const SteadyTime next = now + span_of(context_.options.ping_interval);
    return claimed_ ? next : std::min(next, hello_deadline);
}

void Session::ping(SteadyTime now) {
    const SessionOptions& options = context_.options;
    if (now - alive_ > span_of(options.life_timeout)) {
        return finish(make_error(ErrorCode::deadline_exceeded, "no echo of a ping of the last {}",
                                 options.life_timeout));
    }
    pings_[++nonce_] = now;
    link_->write(Ping{nonce_});
}

void Session::finish(const Status& status) {
    if (ended_) return;
    if (announcing_) {
        if (!ends_with_) ends_with_ = status;
        return;
    }
    ended_ = true;
    ended_at_ = steady_now();
    pings_.clear();
    if (claimed_) {
        // In this order: the next session of this node may only begin after this end is posted.
        const std::chrono::duration<double> silent = ended_at_ - (open_ ? alive_ : ended_at_);
        context_.inputs.post(NodeSessionDown{node_, Seconds{silent.count()}});
        context_.registry.release(node_);
    }
    if (link_ != nullptr) link_->finish(status);
}

void SessionRegistry::watch(std::shared_ptr<Session> session) {
    const SteadyTime now = steady_now();
    clock_.add(session, session->beat(now));
}

Status SessionRegistry::claim(const NodeId& node, const std::string& peer,
                              std::shared_ptr<Session> session) {
    const std::lock_guard lock(mutex_);
    if (closed_) return shutting_down();
    const auto [it, fresh] = live_.emplace(node, Live{peer, std::move(session)});
    if (fresh) return {};
    return make_error(ErrorCode::failed_precondition,
                      "node {} has a live session from {}; another one from {} is refused. Two "
                      "workers must not share a state directory or a copy of it",
                      node, it->second.peer, peer);
}

void SessionRegistry::release(const NodeId& node) {
    // This may be the last owner: destroy the session after unlocking.
    std::map<NodeId, Live>::node_type released;
    const std::lock_guard lock(mutex_);
    released = live_.extract(node);
}

std::shared_ptr<Session> SessionRegistry::find(const NodeId& node) {
    const std::lock_guard lock(mutex_);
    const auto it = live_.find(node);
    return it == live_.end() ? nullptr : it->second.session;
}

// Sessions call the registry with their own lock held, so it calls them without its lock.
void SessionRegistry::send(const NodeId& node, const ControllerMessage& command) {
    if (const auto session = find(node)) session->send(command);
}

void SessionRegistry::end(const NodeId& node, const Error& because) {
    if (const auto session = find(node)) session->end(because);
}

void SessionRegistry::close() {
    std::vector<std::shared_ptr<Session>> sessions;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        for (const auto& [node, live] : live_)
            sessions.push_back(live.session);
    }
    for (const auto& session : sessions)
        session->end(shutting_down());
}

}  // namespace rm
