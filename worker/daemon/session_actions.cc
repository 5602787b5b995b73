#include "worker/daemon/session_actions.h"

#include "service/log.h"
#include "worker/daemon/data_address.h"

namespace rm {

Status SessionActions::persist(const PersistIdentity& identity) {
    return save_identity(identity_path_, {node_, identity.cluster, identity.highest_epoch});
}

Status SessionActions::carry_out(const WorkerCommand& command) {
    return std::visit([this](const auto& asked) { return perform(asked); }, command);
}

Status SessionActions::perform(const LaunchAttempt& launch) {
    const Status started = parts_.attempts.start(launch);
    if (started) {
        log_event(LogLevel::info, "attempt_started",
                  {{"epoch", launch.epoch},
                   {"job", launch.job},
                   {"ranks", launch.ranks.size()},
                   {"mesh", to_string(launch.plan.mesh)}});
    } else {
        log_event(
            LogLevel::warning, "attempt_not_started",
            {{"epoch", launch.epoch}, {"job", launch.job}, {"reason", started.error().message}});
    }
    return started;
}

Status SessionActions::perform(const StopAttempt& stop) {
    const bool now = stop.mode == StopMode::now;
    log_event(LogLevel::info, "attempt_stopping",
              {{"epoch", stop.epoch}, {"mode", now ? "now" : "graceful"}, {"grace", stop.grace}});
    parts_.attempts.stop(stop);
    return {};
}

Status SessionActions::perform(const ForgetAttempt& forget) {
    parts_.attempts.forget(forget.epoch, clock_.mono());
    return {};
}

Status SessionActions::perform(const CheckFiles& check) {
    parts_.roots.ask(check);
    return {};
}

Status SessionActions::perform(const ProbeRoot& probe) {
    parts_.roots.ask(probe);
    return {};
}

Status SessionActions::perform(const ExpectProbe& probe) {
    if (parts_.probe_server != nullptr) parts_.probe_server->expect(probe);
    return {};
}

Status SessionActions::perform(const RunProbe& probe) {
    const bool is_link = probe.kind == ProbeKind::link;
    if (const Status allowed = check_data_address(probe.address); is_link && !allowed) {
        log_event(LogLevel::warning, "probe_refused",
                  {{"peer", probe.peer}, {"reason", allowed.error().message}});
    } else {
        parts_.prober.run(probe);
    }
    return {};
}

void SessionActions::session_accepted(const ClusterId& cluster) {
    log_event(LogLevel::info, "session_up", {{"cluster", cluster}});
    refused_.over();
    parts_.telemetry.allow();
}

void SessionActions::session_refused(const std::string& reason) {
    refused_.came(LogLevel::warning, reason, clock_.mono());
}

}  // namespace rm
