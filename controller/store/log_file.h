#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

// The kept log of one rank: a file whose offsets are those of the log, so writing the same piece
// twice changes nothing. Bytes dropped at the front become a hole and take no space.
namespace rm {

std::string log_path(const std::string& directory, const std::string& job, std::int64_t epoch,
                     int rank);  // <directory>/<job>/e<epoch>/rank-<rank>.log

Status write_log(const std::string& path, std::int64_t offset, std::string_view bytes);
// Frees the space of everything before `end`, a multiple of kLogBlock.
Status drop_log_front(const std::string& path, std::int64_t end);
// Reads at most `size` bytes from `offset` on; moves `offset` past bytes that never arrived or were
// dropped.
Result<std::string> read_log(const std::string& path, std::int64_t& offset, std::int64_t size);

constexpr std::int64_t kLogBlock = 4096;

// The arrival times of a rank's log: a file beside it of pairs (offset, microseconds), both
// ascending, at most one per second. Lookups use binary search and stay fast in a month's log.
std::string log_times_path(const std::string& log_path);

// Records that the log's bytes from `offset` on arrived at `time`.
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
