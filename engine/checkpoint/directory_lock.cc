#include "engine/checkpoint/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "engine/checkpoint/durable_file.h"

namespace rm {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kLockPrefix = ".in-use-e";

std::string own_words() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return format("process {} on {}, since {}", ::getpid(), host.data(),
                  to_iso8601(SystemClock().wall()));
}

std::string read_words(int fd) {
    std::array<char, 512> words{};
    const auto length = ::pread(fd, words.data(), words.size(), 0);
    if (length <= 0) return "another process";
    return {words.data(), usize(length)};
}

// Whether `path` still names the locked file, which its former owner may have removed.
bool still_named(int fd, const std::string& path) {
    struct stat here {};
    struct stat named {};
    return ::fstat(fd, &here) == 0 && ::stat(path.c_str(), &named) == 0 &&
           here.st_dev == named.st_dev && here.st_ino == named.st_ino;
}

// Removes the files of attempts that have ended or that the controller has replaced.
void remove_lower(const std::string& dir, Epoch epoch) {
    std::error_code ignored;
    for (fs::directory_iterator at(dir, ignored), end; !ignored && at != end;
         at.increment(ignored)) {
        const std::string name = at->path().filename().string();
        if (!name.starts_with(kLockPrefix)) continue;
        std::int64_t found = 0;
        std::from_chars(name.data() + kLockPrefix.size(), name.data() + name.size(), found);
        if (found < epoch.value) ::unlink(at->path().c_str());
    }
}

}  // namespace

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    return *this;
}

DirectoryLock::~DirectoryLock() {
    if (fd_) ::unlink(path_.c_str());  // before another run can lock it
}

Result<DirectoryLock> DirectoryLock::take(const std::string& dir, Epoch epoch) {
    RM_RETURN_IF_ERROR(make_directories(dir));
    const std::string path = format("{}/{}{}", dir, kLockPrefix, epoch);
    while (true) {
        UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
        if (!fd) return os_error("create", path, errno);
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            return make_error(ErrorCode::failed_precondition,
                              "{} is in use by another run: {}; wait for its end or name another "
                              "checkpoint directory",
                              dir, read_words(fd.get()));
        }
        if (!still_named(fd.get(), path)) continue;
        DirectoryLock lock(path, std::move(fd));
        const std::string words = own_words();
        const int file = lock.fd_.get();
        if (::ftruncate(file, 0) != 0 || !write_all(file, std::as_bytes(std::span(words)))) {
            return os_error("write", path, errno);
        }
        remove_lower(dir, epoch);
        return lock;
    }
}

}  // namespace rm
