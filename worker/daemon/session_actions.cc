#include "worker/daemon/session_actions.h"

#include "service/log.h"
#include "worker/daemon/data_address.h"

namespace rm {

Status SessionActions::persist(const PersistIdentity& identity) {
    return save_identity(identity_path_, {node_, identity.cluster, identity.highest_epoch});
}

Status SessionActions::start_shim(const LaunchAttempt& launch) {
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

void SessionActions::stop_shim(const StopAttempt& stop) {
    const bool now = stop.mode == StopMode::now;
    log_event(LogLevel::info, "attempt_stopping",
              {{"epoch", stop.epoch}, {"mode", now ? "now" : "graceful"}, {"grace", stop.grace}});
    parts_.attempts.stop(stop);
}

void SessionActions::remove_directory(Epoch epoch) {
    parts_.attempts.forget(epoch, clock_.mono());
}

void SessionActions::expect_probe(const ExpectProbe& probe) {
    if (parts_.probe_server != nullptr) parts_.probe_server->expect(probe);
}

void SessionActions::run_probe(const RunProbe& probe) {
    const bool is_link = probe.kind == ProbeKind::link;
    if (const Status allowed = check_data_address(probe.address); is_link && !allowed) {
        log_event(LogLevel::warning, "probe_refused",
                  {{"peer", probe.peer}, {"reason", allowed.error().message}});
        return;
    }
    parts_.prober.run(probe);
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
