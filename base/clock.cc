#include "base/clock.h"

#include <ctime>

namespace rm {

std::string utc_text(WallTime time, const char* pattern) {
    const std::time_t seconds = time.micros / 1'000'000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[64];
    return {text, std::strftime(text, sizeof text, pattern, &parts)};
}

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
