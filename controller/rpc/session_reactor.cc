#include "controller/rpc/session_reactor.h"

#include <utility>

#include "controller/rpc/caller.h"
#include "service/grpc/grpc_util.h"
#include "service/log.h"

namespace rm {
namespace {

constexpr std::string_view kSessionMethod = "/ringmaster.v1.WorkerService/Session";

}  // namespace

SessionReactor::SessionReactor(grpc::CallbackServerContext& call, const SessionContext& context,
                               const Gatekeeper& gatekeeper)
    : call_(call),
      gatekeeper_(gatekeeper),
      peer_(call.peer()),
      session_(std::make_shared<Session>(*this, peer_, context, std::chrono::steady_clock::now())) {
    context.registry.watch(session_);
    StartRead(&incoming_);
}

Result<WorkerMessage> SessionReactor::admitted() const {
    RM_TRY(const Principal caller, caller_of(call_, gatekeeper_));
    RM_TRY(WorkerMessage message, from_proto(incoming_));
    if (const auto* hello = std::get_if<Hello>(&message)) {
        RM_RETURN_IF_ERROR(check_speaks_for(caller, hello->node));
    }
    return message;
}

void SessionReactor::OnReadDone(bool ok) {
    if (!ok) return session_->closed();
    Result<WorkerMessage> message = admitted();
    if (!message) {
        log_event(LogLevel::warning, "session_message_refused",
                  {{"error", message.error().message}});
        return session_->end(message.error());
    }
    if (session_->take(*std::move(message))) StartRead(&incoming_);
}

void SessionReactor::OnWriteDone(bool ok) {
    const std::lock_guard lock(mutex_);
    outgoing_.pop_front();
    broken_ = broken_ || !ok;
    if (broken_) outgoing_.clear();
    if (!outgoing_.empty()) return write_next();
    if (end_) say_end();
}

void SessionReactor::OnDone() {
    session_->detach();
    delete this;
}

void SessionReactor::write(const ControllerMessage& message) {
    const std::lock_guard lock(mutex_);
    if (broken_) return;
    outgoing_.push_back(to_proto(message));
    if (outgoing_.size() == 1) write_next();
}

void SessionReactor::finish(const Status& status) {
    const std::lock_guard lock(mutex_);
    end_ = status;
    // Wait for the messages before it: a node that is removed stops its ranks. The session cancels
    // a worker that does not read.
    if (outgoing_.empty()) say_end();
}

void SessionReactor::claimed_elsewhere(const NodeId& node, const Status& why) {
    gatekeeper_.refused_later(presented_by(call_), {kSessionMethod, peer_}, node.value, why);
}

void SessionReactor::write_next() {
    StartWrite(&outgoing_.front());
}

void SessionReactor::say_end() {
    const Status& status = *end_;
    const bool expected = status || status.error().code == ErrorCode::unavailable;
    log_event(
        expected ? LogLevel::info : LogLevel::warning, "session_ended",
        {{"peer", peer_}, {"reason", status ? "the worker closed it" : status.error().message}});
    Finish(to_grpc(status));
}

}  // namespace rm
