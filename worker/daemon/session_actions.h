#pragma once

#include <string>

#include "worker/agent/attempts.h"
#include "worker/daemon/identity.h"
#include "worker/rpc/telemetry_sender.h"
#include "worker/session/worker_session.h"

namespace rm {

// What the session decides, done on this machine and logged.
class SessionActions final : public WorkerActions {
public:
    // All references outlive it.
    SessionActions(std::string identity_path, NodeId node, Attempts& attempts,
                   TelemetrySender& telemetry)
        : identity_path_(std::move(identity_path)),
          node_(std::move(node)),
          attempts_(attempts),
          telemetry_(telemetry) {}

    Status persist(const PersistIdentity& identity) override;
    Status start_shim(const LaunchAttempt& launch) override;
    void stop_shim(const StopAttempt& stop) override;
    void remove_directory(Epoch epoch) override;
    void session_accepted(const ClusterId& cluster) override;
    void session_refused(const std::string& reason) override;

private:
    const std::string identity_path_;
    const NodeId node_;
    const SystemClock clock_;
    Attempts& attempts_;
    TelemetrySender& telemetry_;
};

}  // namespace rm
