#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/session.h"
#include "worker/core/worker_core.h"
#include "worker/session/backoff.h"
#include "worker/session/outbox.h"

namespace rm {

using WorkerStream = MessageStream<ControllerMessage, WorkerMessage>;
// Opens a stream to the controller; one that cannot be reached shows at the first read. Never null.
using Dial = std::function<std::unique_ptr<WorkerStream>()>;

// What the session has done for it. Called by one thread at a time, in the core's order, with the
// session's lock held: implementations must not call the session.
class WorkerActions {
public:
    virtual ~WorkerActions() = default;
    // On disk when it returns OK.
    virtual Status persist(const PersistIdentity& identity) = 0;
    // An error only of a launch: it was not started. Questions are answered later, by answer() and
    // report().
    virtual Status carry_out(const WorkerCommand& command) = 0;
    virtual void session_accepted(const ClusterId& cluster) = 0;
    virtual void session_refused(const std::string& reason) = 0;
};

struct WorkerSessionOptions {
    BackoffLimits backoff;
    std::uint64_t seed = 1;  // of the backoff's jitter
};

// Keeps a session with the controller: dials, says hello, reads commands and lets the core decide,
// writes what the core wants said, and dials again with growing jittered waits. Reading, writing
// and observing are independent: a controller that does not read delays nothing but its own
// messages.
class WorkerSession {
public:
    // `actions` outlives the session.
    WorkerSession(WorkerCore core, WorkerActions& actions, Dial dial,
                  WorkerSessionOptions options = {});
    WorkerSession(const WorkerSession&) = delete;
    WorkerSession& operator=(const WorkerSession&) = delete;

    void start();
    // Ends the stream and joins; nothing is called afterwards. Idempotent.
    void stop();

    // From any thread: what an attempt's directory says now.
    void observe(const AttemptStatus& status, MonoTime now);
    // From any thread: what the roots look like now, and answers about them.
    void observe(const std::vector<RootInfo>& roots);
    void answer(const FilesChecked& checked);
    void answer(const RootProbed& probed);
    // From any thread: what a probe has found.
    void report(const ProbeReport& report);

private:
    Seconds serve_and_wait(const std::stop_token& stop);
    void serve(WorkerStream& stream, const std::stop_token& stop);
    void write_all(WorkerStream& stream, WorkerOutbox& outbox);
    void handle(const WorkerInput& input);  // takes the lock
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
