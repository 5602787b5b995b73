#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

// Operations on the small files of an attempt's directory.
namespace rm {

// "cannot open /x: No such file or directory", with the error code for errno.
Error system_error(std::string_view what, std::string_view path, int error_number);

// Readers see the old text or the new, never a part. Not synced: these files must outlive
// processes, not a power cut, which also ends every process of the attempt.
Status replace_text_file(const std::string& path, std::string_view text);

// Allocates the blocks that write_into_room() needs, so that it works on a full disk.
Status make_room(const std::string& path, std::int64_t bytes);
// Writes the text into the file `room` and renames that to `path`. `text` fits the room.
Status write_into_room(const std::string& room, const std::string& path, std::string_view text);

// NOT_FOUND when it is missing; files above 16 MiB are refused.
Result<std::string> read_text_file(const std::string& path);

// The bytes [offset, offset + at most limit) that exist now; empty past the end or when the file is
// missing.
std::string read_file_piece(const std::string& path, std::int64_t offset, std::int64_t limit);
std::int64_t size_of_file(const std::string& path);  // 0 when missing

// Returns the whole blocks before `end` to the file system; they then read as zeros. Offsets do not
// change, and a process that appends continues undisturbed.
Status drop_front(const std::string& path, std::int64_t end);

// Appends in one write.
Status append_text(const std::string& path, std::string_view text);

// The last lines of a log, at most `limit` bytes, without trailing blanks.
std::string tail_of_file(const std::string& path, std::int64_t limit);

}  // namespace rm
