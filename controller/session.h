#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "controller/input_sink.h"

// The controller's side of a worker session, over any MessageStream: hello first, one live session
// per node, pings whose echoes prove life, commands in order.
namespace rm {

using SessionStream = MessageStream<WorkerMessage, ControllerMessage>;

struct SessionOptions {
    Seconds hello_timeout{10};
    Seconds ping_interval{5};
    Seconds life_timeout{15};  // only an echo of a ping sent more recently than this proves life
};

// What waits to be written to one worker. Nothing leaves before the hello has been answered, which
// is when its event is durable: a command from before it belongs to an earlier session and is
// dropped.
class Outbox {
public:
    using Time = std::chrono::steady_clock::time_point;

    void open(HelloReply reply);             // the hello is answered; commands flow from here on
    void send(ControllerMessage command);    // dropped unless open
    void end(std::optional<Error> because);  // the session is over; the first reason stays
    bool is_open() const;
    std::optional<Error> reason() const;

    enum class Wake { message, time, ended };
    // Waits for a message, the end, or `until`.
    Wake next(Time until, ControllerMessage& message);

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<ControllerMessage> messages_;
    bool open_ = false;
    bool ended_ = false;
    std::optional<Error> reason_;
};

// The live sessions by node. Thread safe.
class SessionRegistry {
public:
    // FAILED_PRECONDITION names both peers when the node has a live session already.
    Status claim(const NodeId& node, const std::string& peer, std::shared_ptr<Outbox> outbox);
    void release(const NodeId& node);
    // To the node's session, if it has one. What is lost here is derived again at the next hello.
    void send(const NodeId& node, ControllerMessage command);
    // Ends every session, for shutdown; later claims are refused.
    void close();

private:
    struct Live {
        std::string peer;
        std::shared_ptr<Outbox> outbox;  // second owner: the running session
    };
    std::mutex mutex_;
    bool closed_ = false;
    std::map<NodeId, Live> live_;
};

struct SessionContext {
    InputSink& inputs;
    SessionRegistry& registry;
    ClusterId cluster;
    SessionOptions options;
};

// Serves one session to its end on the calling thread (and a writer thread of its own). The error
// is what the worker is told: a refused hello, no hello, no echo. `peer` is the worker's address.
Status run_session(SessionStream& stream, const std::string& peer, const SessionContext& context);

}  // namespace rm
