#include "worker/session/worker_session.h"

#include <thread>
#include <utility>

namespace rm {

WorkerSession::WorkerSession(WorkerCore core, WorkerActions& actions, Dial dial,
                             WorkerSessionOptions options)
    : actions_(actions),
      dial_(std::move(dial)),
      backoff_(options.backoff, options.seed),
      core_(std::move(core)) {}

void WorkerSession::start() {
    loop_.emplace([this](auto& stop) { return serve_and_wait(stop); });
}

void WorkerSession::stop() {
    if (loop_) loop_->stop();
}

void WorkerSession::reconnect() {
    const std::lock_guard lock(mutex_);
    backoff_.reset();
    if (stream_ != nullptr) stream_->cancel();
}

Seconds WorkerSession::serve_and_wait(const std::stop_token& stop) {
    const std::unique_ptr<WorkerStream> stream = dial_();
    serve(*stream, stop);
    const std::lock_guard lock(mutex_);
    return backoff_.next();
}

void WorkerSession::serve(WorkerStream& stream, const std::stop_token& stop) {
    const std::stop_callback at_stop(stop, [&] { stream.cancel(); });
    if (stop.stop_requested()) return;
    WorkerOutbox outbox;
    {
        const std::lock_guard lock(mutex_);
        stream_ = &stream;
        outbox_ = &outbox;
        carry_out(core_.apply(SessionUp{}));
    }
    std::thread writer([&] { write_all(stream, outbox); });
    ControllerMessage message;
    while (stream.read(message))
        handle(Received{std::move(message)});
    outbox.close();
    stream.cancel();  // frees a writer whose peer does not read
    writer.join();
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
    outbox_ = nullptr;
    carry_out(core_.apply(SessionDown{}));
}

void WorkerSession::write_all(WorkerStream& stream, WorkerOutbox& outbox) {
    while (const auto message = outbox.pop()) {
        if (!stream.write(*message)) return stream.cancel();
    }
}

void WorkerSession::handle(const WorkerInput& input) {
    const std::lock_guard lock(mutex_);
    const bool was_accepted = core_.accepted();
    carry_out(core_.apply(input));
    if (core_.accepted() && !was_accepted) {
        backoff_.reset();
        actions_.session_accepted(core_.cluster());
    }
}

bool WorkerSession::accepted() {
    const std::lock_guard lock(mutex_);
    return core_.accepted();
}

void WorkerSession::carry_out(std::vector<WorkerOutput> outputs) {
    for (const WorkerOutput& output : outputs) {
        std::visit([this](const auto& value) { perform(value); }, output);
    }
}

void WorkerSession::perform(const PersistIdentity& identity) {
    persisted_ = actions_.persist(identity);
}

void WorkerSession::perform(const SendMessage& message) {
    if (outbox_ != nullptr) outbox_->push(message.message);
}

void WorkerSession::perform(const WorkerCommand& command) {
    const auto* launch = std::get_if<LaunchAttempt>(&command);
    const Status remembered = launch != nullptr ? remember_epoch() : Status();
    const Status done = remembered ? actions_.carry_out(command) : remembered;
    if (done || launch == nullptr) return;
    carry_out(core_.apply(ShimNotStarted{launch->epoch, done.error().message}));
}

// No process may run under an epoch that this worker would not remember after a restart.
Status WorkerSession::remember_epoch() {
    if (!persisted_) persisted_ = actions_.persist({core_.cluster(), core_.highest_epoch()});
    return persisted_;
}

void WorkerSession::perform(const EndSession& end) {
    actions_.session_refused(end.reason);
    if (stream_ != nullptr) stream_->cancel();
}

}  // namespace rm
