#include "worker/daemon/session_actions.h"

#include "service/log.h"

namespace rm {

Status SessionActions::persist(const PersistIdentity& identity) {
    return save_identity(identity_path_, {node_, identity.cluster, identity.highest_epoch});
}

Status SessionActions::start_shim(const LaunchAttempt& launch) {
    const Status started = attempts_.start(launch);
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
    attempts_.stop(stop);
}

void SessionActions::remove_directory(Epoch epoch) {
    attempts_.forget(epoch, clock_.mono());
}

void SessionActions::session_accepted(const ClusterId& cluster) {
    log_event(LogLevel::info, "session_up", {{"cluster", cluster}});
    telemetry_.allow();
}

void SessionActions::session_refused(const std::string& reason) {
    log_event(LogLevel::warning, "session_refused", {{"reason", reason}});
}

}  // namespace rm
