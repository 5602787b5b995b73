#include "worker/shim/stop_policy.h"

#include <algorithm>

namespace rm {
namespace {

MonoTime later(MonoTime time, Seconds by) {
    return {time.nanos + static_cast<std::int64_t>(by.value * 1e9)};
}

}  // namespace

void StopPolicy::stop(StopMode mode, Seconds grace, MonoTime now) {
    asked_ = true;
    switch (mode) {
        case StopMode::graceful: {
            const MonoTime end = later(now, grace);
            if (kill_at_ && *kill_at_ <= end) return;
            kill_at_ = end;
            kill_reason_ = format("it did not stop within {}", grace);
            return;
        }
        case StopMode::now:
            terminated_ = true;
            kill_at_ = now;
            kill_reason_ = "told to stop at once";
            return;
    }
}

void StopPolicy::daemons_connected(int num_daemons, MonoTime now) {
    if (num_daemons > 0) {
        alone_since_.reset();
    } else if (!alone_since_) {
        alone_since_ = now;
    }
}

StopPolicy::Action StopPolicy::next(MonoTime now) {
    const bool orphaned = orphan_.mode == OrphanMode::stop && alone_since_ &&
                          now >= later(*alone_since_, orphan_.timeout);
    if (orphaned && !asked_) stop(StopMode::graceful, orphan_.grace, now);
    if (kill_at_ && !killed_ && now >= *kill_at_) {
        killed_ = true;
        return Action::kill;
    }
    if (asked_ && !terminated_) {
        terminated_ = true;
        return Action::terminate;
    }
    return Action::none;
}

std::optional<Seconds> StopPolicy::wait(MonoTime now) const {
    std::optional<MonoTime> due;
    if (kill_at_ && !killed_) due = kill_at_;
    if (!asked_ && alone_since_ && orphan_.mode == OrphanMode::stop) {
        due = later(*alone_since_, orphan_.timeout);
    }
    if (!due) return std::nullopt;
    return std::max(Seconds{0}, *due - now);
}

}  // namespace rm
