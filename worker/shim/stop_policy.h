#pragma once

#include <optional>

#include "base/clock.h"
#include "spec/session.h"
#include "worker/dir/attempt_dir.h"

namespace rm {

// Decides when a shim terminates and when it kills its ranks. Pure: time is an argument.
//  * A graceful stop terminates once and kills when its grace is over; a later one can only shorten
//  it.
//  * With OrphanMode::stop, `timeout` without a connected daemon is a graceful stop.
class StopPolicy {
public:
    enum class Action { none, terminate, kill };

    StopPolicy(OrphanPolicy orphan, MonoTime start) : orphan_(orphan), alone_since_(start) {}

    void stop(StopMode mode, Seconds grace, MonoTime now);
    void daemons_connected(int num_daemons, MonoTime now);

    // The action that is due now; returns each action once.
    Action next(MonoTime now);
    // Time until next() may return an action; nothing: only another input can cause one.
    std::optional<Seconds> wait(MonoTime now) const;
    // The reason for the kill, for the ranks' exit files.
    const std::string& kill_reason() const { return kill_reason_; }

private:
    const OrphanPolicy orphan_;
    std::optional<MonoTime> alone_since_;
    bool asked_ = false;
    bool terminated_ = false;
    bool killed_ = false;
    std::optional<MonoTime> kill_at_;
    std::string kill_reason_;
};

}  // namespace rm
