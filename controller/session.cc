#include "controller/session.h"

#include <thread>

#include "controller/core/check_hello.h"

namespace rm {
namespace {

using SteadyClock = std::chrono::steady_clock;

SteadyClock::duration span_of(Seconds seconds) {
    return std::chrono::duration_cast<SteadyClock::duration>(
        std::chrono::duration<double>(seconds.value));
}

// When pings went out and which echo came back last. Written by the writer, told by the reader.
class Pulse {
public:
    Ping ping() {
        const std::lock_guard lock(mutex_);
        sent_[++nonce_] = SteadyClock::now();
        return {nonce_};
    }
    void echo(std::uint64_t nonce) {
        const std::lock_guard lock(mutex_);
        const auto it = sent_.find(nonce);
        if (it == sent_.end()) return;
        // An echo proves life at the time its ping was sent, not when the echo arrived.
        alive_ = it->second;
        sent_.erase(sent_.begin(), std::next(it));
    }
    void begin() {
        const std::lock_guard lock(mutex_);
        alive_ = SteadyClock::now();
    }
    SteadyClock::time_point alive() const {
        const std::lock_guard lock(mutex_);
        return alive_;
    }

private:
    mutable std::mutex mutex_;
    std::uint64_t nonce_ = 0;
    std::map<std::uint64_t, SteadyClock::time_point> sent_;
    SteadyClock::time_point alive_;
};

class Writer {
public:
    Writer(SessionStream& stream, Outbox& outbox, Pulse& pulse, const SessionOptions& options)
        : stream_(stream), outbox_(outbox), pulse_(pulse), options_(options) {}

    void run() {
        const auto hello_deadline = SteadyClock::now() + span_of(options_.hello_timeout);
        auto wake = hello_deadline;
        ControllerMessage message;
        while (true) {
            switch (outbox_.next(wake, message)) {
                case Outbox::Wake::ended:
                    // Without a reason the reader ended it: its status must reach the worker, which
                    // a cancelled stream would hide.
                    if (outbox_.reason()) stream_.cancel();
                    return;
                case Outbox::Wake::message:
                    if (!stream_.write(message)) return outbox_.end(std::nullopt);
                    break;
                case Outbox::Wake::time:
                    if (!outbox_.is_open()) {
                        outbox_.end(no_hello());
                        break;
                    }
                    if (!beat()) return;
                    break;
            }
            wake = outbox_.is_open() ? next_beat() : hello_deadline;
        }
    }

private:
    Error no_hello() const {
        return make_error(ErrorCode::deadline_exceeded, "no hello within {}",
                          options_.hello_timeout);
    }

    SteadyClock::time_point next_beat() {
        if (last_ping_ == SteadyClock::time_point()) {
            pulse_.begin();
            last_ping_ = SteadyClock::now();
        }
        return last_ping_ + span_of(options_.ping_interval);
    }

    bool beat() {
        const auto now = SteadyClock::now();
        if (now - pulse_.alive() > span_of(options_.life_timeout)) {
            outbox_.end(make_error(ErrorCode::deadline_exceeded, "no echo of a ping of the last {}",
                                   options_.life_timeout));
            return stream_.cancel(), false;
        }
        last_ping_ = now;
        if (stream_.write(pulse_.ping())) return true;
        return outbox_.end(std::nullopt), false;
    }

    SessionStream& stream_;
    Outbox& outbox_;
    Pulse& pulse_;
    const SessionOptions& options_;
    SteadyClock::time_point last_ping_;
};

class Session {
public:
    Session(SessionStream& stream, const std::string& peer, const SessionContext& context)
        : stream_(stream), peer_(peer), context_(context), outbox_(std::make_shared<Outbox>()) {}

    Status run() {
        Writer writer(stream_, *outbox_, pulse_, context_.options);
        std::thread thread([&writer] { writer.run(); });
        Status status = serve();
        outbox_->end(std::nullopt);
        thread.join();
        if (const auto reason = outbox_->reason()) return *reason;
        return status;
    }

private:
    Status serve() {
        WorkerMessage first;
        if (!stream_.read(first))
            return make_error(ErrorCode::cancelled, "it ended before a hello");
        const auto* hello = std::get_if<Hello>(&first);
        if (hello == nullptr) return invalid_argument("the first message must be a hello");
        RM_RETURN_IF_ERROR(check_hello(*hello, context_.cluster));
        node_ = hello->node;
        // Every peer on a Unix socket has the same address: the host name tells them apart.
        const std::string peer = format("{} ({})", peer_, hello->inventory.hostname);
        RM_RETURN_IF_ERROR(context_.registry.claim(node_, peer, outbox_));
        announce(*hello);
        const Status status = read_all();
        // In this order: the next session of this node may only begin after the end of this one.
        context_.inputs.post(NodeSessionDown{node_});
        context_.registry.release(node_);
        return status;
    }

    void announce(const Hello& hello) {
        HelloReply reply{.cluster = context_.cluster,
                         .protocol = hello.protocol,
                         .ping_interval = context_.options.ping_interval};
        // The answer may come after this session has ended: it co-owns the outbox.
        context_.inputs.post(NodeHello{hello},
                             [outbox = outbox_, reply](const Result<JobId>& answer) {
                                 if (answer) {
                                     outbox->open(reply);
                                 } else {
                                     outbox->end(answer.error());
                                 }
                             });
    }

    Status read_all() {
        WorkerMessage message;
        while (stream_.read(message)) {
            if (const auto* pong = std::get_if<Pong>(&message)) {
                pulse_.echo(pong->nonce);
            } else if (auto* status = std::get_if<AttemptStatus>(&message)) {
                context_.inputs.post(NodeStatus{node_, std::move(*status)});
            } else if (auto* refused = std::get_if<CommandRefused>(&message)) {
                context_.inputs.post(NodeRefused{node_, std::move(*refused)});
            } else {
                return invalid_argument("a session has one hello, at its beginning");
            }
        }
        return {};
    }

    SessionStream& stream_;
    const std::string& peer_;
    const SessionContext& context_;
    std::shared_ptr<Outbox> outbox_;  // second owners: the registry and the hello's answer
    Pulse pulse_;
    NodeId node_;
};

}  // namespace

void Outbox::open(HelloReply reply) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    open_ = true;
    messages_.emplace_back(std::move(reply));
    changed_.notify_one();
}

void Outbox::send(ControllerMessage command) {
    const std::lock_guard lock(mutex_);
    if (!open_ || ended_) return;
    messages_.push_back(std::move(command));
    changed_.notify_one();
}

void Outbox::end(std::optional<Error> because) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    reason_ = std::move(because);
    changed_.notify_one();
}

bool Outbox::is_open() const {
    const std::lock_guard lock(mutex_);
    return open_;
}

std::optional<Error> Outbox::reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
}

Outbox::Wake Outbox::next(Time until, ControllerMessage& message) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return ended_ || !messages_.empty(); });
    if (ended_) return Wake::ended;
    if (messages_.empty()) return Wake::time;
    message = std::move(messages_.front());
    messages_.pop_front();
    return Wake::message;
}

Status SessionRegistry::claim(const NodeId& node, const std::string& peer,
                              std::shared_ptr<Outbox> outbox) {
    const std::lock_guard lock(mutex_);
    if (closed_) return make_error(ErrorCode::unavailable, "the controller is shutting down");
    const auto [it, fresh] = live_.emplace(node, Live{peer, std::move(outbox)});
    if (fresh) return {};
    return make_error(ErrorCode::failed_precondition,
                      "node {} has a live session from {}; another one from {} is refused. Two "
                      "workers must not share a state directory or a copy of it",
                      node, it->second.peer, peer);
}

void SessionRegistry::release(const NodeId& node) {
    const std::lock_guard lock(mutex_);
    live_.erase(node);
}

void SessionRegistry::send(const NodeId& node, ControllerMessage command) {
    const std::lock_guard lock(mutex_);
    const auto it = live_.find(node);
    if (it != live_.end()) it->second.outbox->send(std::move(command));
}

void SessionRegistry::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [node, live] : live_) {
        live.outbox->end(make_error(ErrorCode::unavailable, "the controller is shutting down"));
    }
}

Status run_session(SessionStream& stream, const std::string& peer, const SessionContext& context) {
    return Session(stream, peer, context).run();
}

}  // namespace rm
