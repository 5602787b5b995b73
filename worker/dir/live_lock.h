#pragma once

#include <string>

#include "base/os/unique_fd.h"
#include "base/result.h"

namespace rm {

// "Is any process of this attempt left?", answered by the kernel: the daemon locks a file, the shim
// inherits the lock and passes it on to every rank, and the last of them (or of their children) to
// end releases it. Neither a crash nor a reused pid can make the answer wrong.
class LiveLock {
public:
    // FAILED_PRECONDITION when processes of the attempt hold it.
    static Result<LiveLock> take(const std::string& path);
    int fd() const { return file_.get(); }

private:
    explicit LiveLock(UniqueFd file) : file_(std::move(file)) {}
    UniqueFd file_;
};

bool is_live(const std::string& path);

}  // namespace rm
