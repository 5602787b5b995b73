#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace rm
