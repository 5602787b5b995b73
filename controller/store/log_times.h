#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/clock.h"
#include "base/result.h"

// When which part of a rank's log arrived: a file beside the log, of pairs (offset, microseconds),
// both growing, one for each second at most. Looked up by halving, so that the log of a month costs
// no more than that of a minute.
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

// Where what arrived at `since` or later begins; the largest offset when nothing did.
std::int64_t find_log_offset(const std::string& times_path, WallTime since);

}  // namespace rm
