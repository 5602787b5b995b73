#pragma once

#include <string>

#include "base/ids.h"
#include "base/os/unique_fd.h"
#include "base/result.h"

namespace rm {

// Keeps two runs of one epoch out of one directory of checkpoints, such as two ring-trains with the
// same configuration. It locks the file .in-use-e<epoch> there by flock; the file names its owner,
// and the kernel releases it when the process ends for any reason. Runs of different epochs do not
// exclude each other: the controller decides which of them may continue, and a lost machine may
// hold its lock on a network file system for a long time.
class DirectoryLock {
public:
    DirectoryLock() = default;
    DirectoryLock(DirectoryLock&&) noexcept = default;
    DirectoryLock& operator=(DirectoryLock&& other) noexcept;
    ~DirectoryLock();

    // Makes the directory and checks that it is writable. failed_precondition names the holder.
    // Succeeds without a lock on a file system that has none.
    static Result<DirectoryLock> take(const std::string& dir, Epoch epoch);

private:
    DirectoryLock(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
    std::string path_;
    UniqueFd fd_;
};

}  // namespace rm
