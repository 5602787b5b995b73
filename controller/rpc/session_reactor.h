#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <mutex>
#include <optional>

#include "controller/session.h"
#include "ringmaster/v1/worker.pb.h"
#include "service/convert/convert.h"
#include "service/security/gatekeeper.h"

namespace rm {

using SessionCall = grpc::ServerBidiReactor<pb::WorkerMessage, pb::ControllerMessage>;

// A Session's connection on gRPC's callback API: no thread of its own. Its hello must name a node
// that its credential speaks for, and it ends when the credential does: every message (pings are
// echoed every 5 s) is judged like a call of its own. gRPC owns it: it deletes itself when the call
// is done.
class SessionReactor final : public SessionCall, public SessionLink {
public:
    SessionReactor(grpc::CallbackServerContext& call, const SessionContext& context,
                   const Gatekeeper& gatekeeper);

private:
    void OnReadDone(bool ok) override;
    void OnWriteDone(bool ok) override;
    void OnDone() override;

    void write(const ControllerMessage& message) override;
    void finish(const Status& status) override;
    void cancel() override { call_.TryCancel(); }
    void claimed_elsewhere(const NodeId& node, const Status& why) override;

    Result<WorkerMessage> admitted() const;
    void write_next();
    void say_end();

    grpc::CallbackServerContext& call_;
    const Gatekeeper& gatekeeper_;
    const std::string peer_;  // kept because a closed call no longer knows it
    const std::shared_ptr<Session> session_;
    pb::WorkerMessage incoming_;

    std::mutex mutex_;  // taken while the session's lock is held, never the other way round
    std::deque<pb::ControllerMessage> outgoing_;  // the first is being written
    bool broken_ = false;                         // a write has failed: the reads will, too
    std::optional<Status> end_;
};

}  // namespace rm
