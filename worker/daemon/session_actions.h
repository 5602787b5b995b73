#pragma once

#include <string>

#include "worker/agent/attempts.h"
#include "worker/daemon/identity.h"
#include "worker/roots/roots_agent.h"
#include "worker/rpc/telemetry_sender.h"
#include "worker/session/worker_session.h"

namespace rm {

// What the session decides, done on this machine and logged.
class SessionActions final : public WorkerActions {
public:
    // All references outlive it.
    SessionActions(std::string identity_path, NodeId node, Attempts& attempts,
                   TelemetrySender& telemetry, RootsAgent& roots)
        : identity_path_(std::move(identity_path)),
          node_(std::move(node)),
          attempts_(attempts),
          telemetry_(telemetry),
          roots_(roots) {}

    Status persist(const PersistIdentity& identity) override;
    Status start_shim(const LaunchAttempt& launch) override;
    void stop_shim(const StopAttempt& stop) override;
    void remove_directory(Epoch epoch) override;
    void check_files(const CheckFiles& check) override { roots_.ask(check); }
    void probe_root(const ProbeRoot& probe) override { roots_.ask(probe); }
    void session_accepted(const ClusterId& cluster) override;
    void session_refused(const std::string& reason) override;

private:
    const std::string identity_path_;
    const NodeId node_;
    const SystemClock clock_;
    Attempts& attempts_;
    TelemetrySender& telemetry_;
    RootsAgent& roots_;
};

}  // namespace rm
