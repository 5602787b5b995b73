#pragma once

#include <string>

#include "service/log.h"
#include "worker/agent/attempts.h"
#include "worker/daemon/identity.h"
#include "worker/probe/probe_server.h"
#include "worker/probe/prober.h"
#include "worker/roots/roots_agent.h"
#include "worker/rpc/telemetry_sender.h"
#include "worker/session/worker_session.h"

namespace rm {

// Carries out the session's decisions on this machine and logs them.
class SessionActions final : public WorkerActions {
public:
    struct Parts {
        Attempts& attempts;
        TelemetrySender& telemetry;
        ProbeServer* probe_server;  // null: there is none
        Prober& prober;
        RootsAgent& roots;
    };
    // All parts outlive the object.
    SessionActions(std::string identity_path, NodeId node, const Parts& parts)
        : identity_path_(std::move(identity_path)), node_(std::move(node)), parts_(parts) {}

    Status persist(const PersistIdentity& identity) override;
    Status carry_out(const WorkerCommand& command) override;
    void session_accepted(const ClusterId& cluster) override;
    void session_refused(const std::string& reason) override;

private:
    Status perform(const LaunchAttempt& launch);
    Status perform(const StopAttempt& stop);
    Status perform(const ForgetAttempt& forget);
    Status perform(const CheckFiles& check);
    Status perform(const ProbeRoot& probe);
    Status perform(const ExpectProbe& probe);
    Status perform(const RunProbe& probe);

    const std::string identity_path_;
    const NodeId node_;
    const SystemClock clock_;
    const Parts parts_;
    RepeatedEvent refused_{"session_refused"};
};

}  // namespace rm
