#include "worker/dir/live_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "worker/dir/files.h"
#include "worker/dir/process.h"

namespace rm {
namespace {

// An open-file-description lock: it belongs to the open file, which children share, and F_OFD_GETLK
// tests it without taking it.
struct flock whole_file() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

}  // namespace

Result<LiveLock> LiveLock::take(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file) return system_error("cannot open", path, errno);
    struct flock lock = whole_file();
    if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
        return make_error(ErrorCode::failed_precondition,
                          "{} is held: processes of this attempt are left", path);
    }
    return LiveLock(std::move(file));
}

bool is_live(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return false;
    struct flock lock = whole_file();
    return ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace rm
