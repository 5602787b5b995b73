#pragma once

#include <string>
#include <string_view>

#include "base/os/unique_fd.h"
#include "base/result.h"

namespace rm {

// A daemon's private directory, held by one process at a time: created with mode 0700 where missing
// (parents with the usual mode), brought to that mode where it exists (PERMISSION_DENIED where that
// cannot be done), and locked until this object is destroyed. A second daemon on it is refused with
// FAILED_PRECONDITION naming the pid that holds it. The lock does not pass to child processes.
class StateDir {
public:
    static Result<StateDir> open(const std::string& path);

    const std::string& path() const { return path_; }  // absolute
    std::string file(std::string_view name) const;     // path/name

private:
    StateDir(std::string path, UniqueFd lock, UniqueFd directory)
        : path_(std::move(path)), lock_(std::move(lock)), directory_(std::move(directory)) {}
    std::string path_;
    UniqueFd lock_;  // the file that names the holder; the directory is locked as well
    UniqueFd directory_;
};

// Readers see the old contents or the new, also after a power cut (temporary file, fsync, rename,
// fsync of the directory). Mode 0600. One writer of a file
// at a time.
Status write_file_atomically(const std::string& path, std::string_view contents);

// NOT_FOUND when it does not exist; files above 1 MiB are refused.
Result<std::string> read_small_file(const std::string& path);

}  // namespace rm
