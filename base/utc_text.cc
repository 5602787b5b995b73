#include "base/utc_text.h"

#include <ctime>

namespace rm {

std::string utc_text(WallTime time, const char* pattern) {
    const std::time_t seconds = time.micros / 1'000'000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[64];
    return {text, std::strftime(text, sizeof text, pattern, &parts)};
}

}  // namespace rm
