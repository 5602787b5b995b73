#pragma once

#include <string>

#include "base/ids.h"
#include "base/os/unique_fd.h"
#include "base/result.h"

namespace rm {

// Keeps two runs of one epoch out of one directory of checkpoints, as two ring-trains would be that
// are started on the same configuration. The file .in-use-e<epoch> in it is locked, as flock does,
// and names its owner; the kernel lets go of it when the process ends, however it does. Runs of
// different epochs do not keep each other out: the controller decides which of them may go on, and
// a machine that is gone may hold its lock on a network file system for long.
class DirectoryLock {
public:
    DirectoryLock() = default;
    DirectoryLock(DirectoryLock&&) noexcept = default;
    DirectoryLock& operator=(DirectoryLock&& other) noexcept;
    ~DirectoryLock();

    // Makes the directory and shows that files can be written there. failed_precondition says who
    // holds it. A file system without locks is used without one.
    static Result<DirectoryLock> take(const std::string& dir, Epoch epoch);

private:
    DirectoryLock(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
    std::string path_;
    UniqueFd fd_;
};

}  // namespace rm
