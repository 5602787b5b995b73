#include "service/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/units.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSmallFile = 1024 * 1024;

// A system error as ours: the operation, its object, and the system's message.
Error system_error(std::string_view what, const std::string& path, int number) {
    const ErrorCode code = number == ENOENT                      ? ErrorCode::not_found
                           : number == EACCES || number == EPERM ? ErrorCode::permission_denied
                           : number == ENOSPC                    ? ErrorCode::resource_exhausted
                                                                 : ErrorCode::unavailable;
    return make_error(code, "{} {}: {}", what, path, std::strerror(number));
}

UniqueFd open_file(const std::string& path, int flags, mode_t mode = 0) {
    return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC, mode));
}

Status write_whole(const UniqueFd& file, std::string_view contents, const std::string& path) {
    if (write_all(file.get(), std::as_bytes(std::span(contents)))) return {};
    return system_error("cannot write", path, errno);
}

Result<std::string> read_all(int fd, const std::string& path) {
    std::string contents;
    char buffer[8192];
    while (true) {
        const ssize_t got = ::read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error("cannot read", path, errno);
        if (got == 0) return contents;
        contents.append(buffer, usize(got));
        if (contents.size() > kMaxSmallFile) {
            return make_error(ErrorCode::out_of_range, "{} is larger than {}", path,
                              to_string(Bytes{kMaxSmallFile}));
        }
    }
}

// mkdir(1) and most packages leave 0755, which shows tables and logs to every user of the machine.
Status close_to_others(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return system_error("cannot look at", path, errno);
    if ((facts.st_mode & 0077) == 0 || ::chmod(path.c_str(), 0700) == 0) return {};
    return make_error(
        ErrorCode::permission_denied,
        "the state directory {} is open to other users (mode {}{}{}) and cannot be "
        "closed to them: {}; it must belong to the user of the daemon, with mode 0700",
        path, facts.st_mode >> 6 & 7, facts.st_mode >> 3 & 7, facts.st_mode & 7,
        std::strerror(errno));
}

Status make_private_directory(const std::string& path) {
    std::error_code failure;
    fs::create_directories(fs::path(path).parent_path(), failure);
    if (failure) return system_error("cannot create the directory above", path, failure.value());
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        return system_error("cannot create the state directory", path, errno);
    }
    if (!fs::is_directory(path, failure)) {
        return invalid_argument("the state directory {} is something else; name a directory", path);
    }
    return close_to_others(path);
}

Error locked_by_other(const std::string& path, int lock) {
    const auto holder = read_all(lock, path);
    return make_error(ErrorCode::failed_precondition,
                      "the state directory {} is in use by process {}; stop it or name another "
                      "directory",
                      path, holder && !holder->empty() ? *holder : "unknown");
}

// The directory entry itself must survive a power cut, too.
Status sync_directory(const std::string& path) {
    const UniqueFd directory = open_file(path, O_RDONLY | O_DIRECTORY);
    if (!directory || ::fsync(directory.get()) != 0) {
        return system_error("cannot sync the directory", path, errno);
    }
    return {};
}

}  // namespace

Result<StateDir> StateDir::open(const std::string& path) {
    std::error_code failure;
    std::string absolute = fs::absolute(path, failure).lexically_normal().string();
    while (absolute.size() > 1 && absolute.back() == '/')
        absolute.pop_back();
    if (path.empty() || failure)
        return invalid_argument("the state directory '{}' has no path", path);
    RM_RETURN_IF_ERROR(make_private_directory(absolute));
    const std::string lock_path = absolute + "/lock";
    UniqueFd lock = open_file(lock_path, O_RDWR | O_CREAT, 0600);
    if (!lock) return system_error("cannot open", lock_path, errno);
    // Locks the directory as well: a lock file that a user removes and makes anew is another file.
    UniqueFd directory = open_file(absolute, O_RDONLY | O_DIRECTORY);
    if (!directory) return system_error("cannot open", absolute, errno);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
        return locked_by_other(absolute, lock.get());
    }
    if (::ftruncate(lock.get(), 0) != 0) return system_error("cannot write", lock_path, errno);
    RM_RETURN_IF_ERROR(write_whole(lock, format("{}", ::getpid()), lock_path));
    return StateDir(absolute, std::move(lock), std::move(directory));
}

std::string StateDir::file(std::string_view name) const {
    return format("{}/{}", path_, name);
}

Status write_file_atomically(const std::string& path, std::string_view contents) {
    const std::string temporary = format("{}.{}.tmp", path, ::getpid());
    {
        const UniqueFd file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (!file) return system_error("cannot create", temporary, errno);
        RM_RETURN_IF_ERROR(write_whole(file, contents, temporary));
        if (::fsync(file.get()) != 0) return system_error("cannot sync", temporary, errno);
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        return system_error("cannot rename to", path, errno);
    }
    const std::string parent = fs::path(path).parent_path().string();
    return sync_directory(parent.empty() ? "." : parent);
}

Result<std::string> read_small_file(const std::string& path) {
    const UniqueFd file = open_file(path, O_RDONLY);
    if (!file) return system_error("cannot open", path, errno);
    return read_all(file.get(), path);
}

}  // namespace rm
