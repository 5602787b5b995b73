#pragma once

#include <string>

#include "base/clock.h"

namespace rm {

// The time in UTC, whole seconds, as strftime's `pattern` says; at most 63 bytes.
std::string utc_text(WallTime time, const char* pattern);

}  // namespace rm
