#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/core/input.h"
#include "controller/session_clock.h"

// The controller's side of a worker session, over any connection: hello first, one live session per
// node, pings whose echoes prove life, commands in order. No thread waits for a session: messages
// are pushed in, and one clock serves all of them.
namespace rm {

struct SessionOptions {
    Seconds hello_timeout{10};
    Seconds ping_interval{5};
    Seconds life_timeout{15};  // only an echo of a ping sent more recently than this proves life
};

// The connection as its session sees it. The session makes one call at a time; a call queues its
// argument and neither waits nor calls back.
class SessionLink {
public:
    virtual ~SessionLink() = default;
    virtual void write(const ControllerMessage& message) = 0;
    virtual void finish(
        const Status& status) = 0;  // once, with the reason for the worker; no writes follow
    virtual void cancel() = 0;      // for a worker that does not read the reason
    // Another worker is this node at this moment: one of them may have a copy of its credential.
    virtual void claimed_elsewhere(const NodeId& /*node*/, const Status& /*why*/) {}
};

class SessionRegistry;

struct SessionContext {
    InputSink& inputs;
    SessionRegistry& registry;
    ClusterId cluster;
    SessionOptions options;
    // Stores a probe's result and returns; called with the session's lock held. Null: drops it.
    std::function<void(const NodeId&, ProbeReport)> probed = nullptr;
};

// One session from its connection to its end. Thread safe; the link is used until detach(). Sends
// nothing before it has answered the hello, when the hello's event is durable: an earlier command
// belongs to an earlier session and is dropped.
class Session final : public Beating, public std::enable_shared_from_this<Session> {
public:
    // `peer` is the worker's address.
    Session(SessionLink& link, std::string peer, const SessionContext& context, SteadyTime now);

    // From the connection. False: the session is over and takes no more messages.
    bool take(WorkerMessage message);
    void closed();  // the worker has ended the stream
    void detach();  // the link is about to end

    // From the controller. The first reason to end is kept.
    void send(const ControllerMessage& command);  // dropped unless the hello is answered
    void end(Error because);

    SteadyTime beat(SteadyTime now) override;

private:
    bool greet(std::unique_lock<std::mutex>& lock, const Hello& hello);
    Status admit(const Hello& hello);
    void answered(const HelloReply& reply, const Result<JobId>& answer);
    bool take_later(WorkerMessage message);
    void take_status(AttemptStatus status);
    void echo(std::uint64_t nonce);
    void ping(SteadyTime now);
    void finish(const Status& status);

    std::mutex mutex_;
    SessionLink* link_;
    const std::string peer_;
    const SessionContext& context_;
    const SteadyTime began_;
    NodeId node_;              // empty before the hello
    bool claimed_ = false;     // the registry has this session
    bool announcing_ = false;  // the hello is being posted: the end waits for it
    bool open_ = false;        // the hello is answered
    bool ended_ = false;
    std::optional<Status> ends_with_;  // while announcing
    SteadyTime ended_at_;
    std::uint64_t nonce_ = 0;
    std::map<std::uint64_t, SteadyTime> pings_;  // sent and not echoed
    SteadyTime alive_;
};

// The live sessions by node, and the clock they share. Thread safe.
class SessionRegistry {
public:
    // Starts the session's clock, before the hello.
    void watch(std::shared_ptr<Session> session);
    // FAILED_PRECONDITION names both peers when the node has a live session already.
    Status claim(const NodeId& node, const std::string& peer, std::shared_ptr<Session> session);
    void release(const NodeId& node);
    // Sends to the node's session, if it has one. Commands lost here are derived again at the next
    // hello.
    void send(const NodeId& node, const ControllerMessage& command);
    // Ends the node's session, if it has one.
    void end(const NodeId& node, const Error& because);
    // Ends every session, for shutdown; later claims are refused.
    void close();

private:
    struct Live {
        std::string peer;
        std::shared_ptr<Session> session;  // second owner: its connection
    };
    std::shared_ptr<Session> find(const NodeId& node);

    std::mutex mutex_;
    bool closed_ = false;
    std::map<NodeId, Live> live_;
    SessionClock clock_;
};

}  // namespace rm
