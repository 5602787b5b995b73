#include "service/repeated_event.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

constexpr Seconds kFirstPause{60};
constexpr Seconds kLongestPause{3600};

}  // namespace

bool RepeatedEvent::came(LogLevel level, const std::string& reason, MonoTime now) {
    const std::lock_guard lock(mutex_);
    const bool known = pause_.value > 0 && reason == reason_;
    if (known && now - logged_ < pause_) return ++unlogged_, false;
    pause_ = known ? std::min(Seconds{2 * pause_.value}, kLongestPause) : kFirstPause;
    reason_ = reason;
    logged_ = now;
    const int missed = std::exchange(unlogged_, 0);
    if (missed == 0) {
        log_event(level, event_, {{"reason", reason}});
    } else {
        log_event(level, event_, {{"reason", reason}, {"times_unlogged", missed}});
    }
    return true;
}

void RepeatedEvent::over() {
    const std::lock_guard lock(mutex_);
    pause_ = Seconds{0};
    unlogged_ = 0;
}

}  // namespace rm
