#include "base/clock.h"

#include <chrono>

#include "base/utc_text.h"

namespace rm {

std::string to_iso8601(WallTime time) {
    return utc_text(time, "%Y-%m-%dT%H:%M:%SZ");
}

WallTime SystemClock::wall() const {
    using std::chrono::duration_cast;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {duration_cast<std::chrono::microseconds>(now).count()};
}

MonoTime SystemClock::mono() const {
    using std::chrono::duration_cast;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return {duration_cast<std::chrono::nanoseconds>(now).count()};
}

void ManualClock::advance(Seconds by) {
    wall_.micros += static_cast<std::int64_t>(by.value * 1e6);
    mono_.nanos += static_cast<std::int64_t>(by.value * 1e9);
}

}  // namespace rm
