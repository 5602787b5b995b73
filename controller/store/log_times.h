#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/clock.h"
#include "base/result.h"

// Records when each part of a rank's log arrived: a file beside the log, of pairs (offset,
// microseconds), both growing, one for each second at most. Lookups use binary search, so that they
// stay fast in the log of a month.
namespace rm {

std::string log_times_path(const std::string& log_path);

// Notes that the log's bytes from `offset` on arrived at `time`.
Status note_log_time(const std::string& times_path, std::int64_t offset, WallTime time);

struct LogTime {
    WallTime time;                                                // 0: not known
    std::int64_t end = std::numeric_limits<std::int64_t>::max();  // where a later time begins
};
// The time of the byte at `offset`. A log without times (of an older controller) has none.
LogTime find_log_time(const std::string& times_path, std::int64_t offset);

// The first offset that arrived at `since` or later; the largest offset if none did.
std::int64_t find_log_offset(const std::string& times_path, WallTime since);

}  // namespace rm
