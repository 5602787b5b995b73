#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/os/loop.h"
#include "base/result.h"
#include "spec/session.h"
#include "worker/core/worker_core.h"
#include "worker/session/backoff.h"
#include "worker/session/outbox.h"

namespace rm {

using WorkerStream = MessageStream<ControllerMessage, WorkerMessage>;
// Opens a stream to the controller; if unreachable, the first read fails. Never null.
using Dial = std::function<std::unique_ptr<WorkerStream>()>;

// Carries out the session's actions. One thread at a time calls it, in the core's order, with the
// session's lock held: implementations must not call the session.
class WorkerActions {
public:
    virtual ~WorkerActions() = default;
    // Durable on disk when it returns OK.
    virtual Status persist(const PersistIdentity& identity) = 0;
    // Fails only for a launch, which then was not started. Answers to questions follow later, by
    // handle().
    virtual Status carry_out(const WorkerCommand& command) = 0;
    virtual void session_accepted(const ClusterId& cluster) = 0;
    virtual void session_refused(const std::string& reason) = 0;
};

struct WorkerSessionOptions {
    BackoffLimits backoff;
    std::uint64_t seed = 1;  // of the backoff's jitter
};

// Keeps a session with the controller: dials, says hello, reads commands and lets the core decide,
// writes the core's messages, and dials again after growing, jittered pauses. Reading, writing and
// observing are independent: a controller that does not read delays nothing but its own messages.
class WorkerSession {
public:
    // `actions` outlives the session.
    WorkerSession(WorkerCore core, WorkerActions& actions, Dial dial,
                  WorkerSessionOptions options = {});
    WorkerSession(const WorkerSession&) = delete;
    WorkerSession& operator=(const WorkerSession&) = delete;

    void start();
    // Ends the stream and joins; makes no calls afterwards. Idempotent.
    void stop();

    // Whether the present session's controller has been accepted. From any thread.
    bool accepted();
    // Ends the stream, so that the session dials again at once: over a new channel.
    void reconnect();

    // From any thread: an observation of this machine, or an answer to one of the core's commands.
    void handle(const WorkerInput& input);

private:
    Seconds serve_and_wait(const std::stop_token& stop);
    void serve(WorkerStream& stream, const std::stop_token& stop);
    void write_all(WorkerStream& stream, WorkerOutbox& outbox);
    void carry_out(std::vector<WorkerOutput> outputs);

    void perform(const PersistIdentity& identity);
    void perform(const SendMessage& message);
    void perform(const EndSession& end);
    void perform(const WorkerCommand& command);
    Status remember_epoch();

    WorkerActions& actions_;
    const Dial dial_;

    std::mutex mutex_;  // guards what follows, and every call of actions_
    Backoff backoff_;
    WorkerCore core_;
    Status persisted_;
    WorkerStream* stream_ = nullptr;  // while served
    WorkerOutbox* outbox_ = nullptr;

    std::optional<Loop> loop_;
};

}  // namespace rm
