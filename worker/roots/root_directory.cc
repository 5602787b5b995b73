#include "worker/roots/root_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/os/disk_space.h"
#include "base/os/unique_fd.h"
#include "worker/dir/files.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSpeedBytes = 16 << 20;
constexpr std::time_t kOld = 600;

std::string nonce_file(const std::string& directory, const std::string& nonce) {
    return directory + "/" + kNoncePrefix + nonce;
}

Status check_nonce(const std::string& nonce) {
    const bool plain = std::all_of(nonce.begin(), nonce.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-';
    });
    if (plain && !nonce.empty() && nonce.size() <= 128) return {};
    return invalid_argument("'{}' is not a valid name of a probe", nonce);
}

bool write_all(int fd, std::int64_t size) {
    const std::string block(1 << 20, 'r');
    for (std::int64_t written = 0; written < size;) {
        const ssize_t count = ::write(fd, block.data(), block.size());
        if (count <= 0) return false;
        written += count;
    }
    return ::fdatasync(fd) == 0;
}

}  // namespace

Bytes free_space(const std::string& directory) {
    return disk_space(directory).value_or(DiskSpace{}).free;
}

RootInfo look_at_root(const DeclaredRoot& root) {
    RootInfo info{.name = root.name, .path = root.path};
    struct stat status {};
    if (::stat(root.path.c_str(), &status) != 0) {
        info.problem = std::strerror(errno);
    } else if (!S_ISDIR(status.st_mode)) {
        info.problem = "not a directory";
    } else if (::access(root.path.c_str(), R_OK | X_OK) != 0) {
        info.problem = std::strerror(errno);
    }
    if (!info.usable()) return info;
    info.mount = format("{}:{}", status.st_dev, status.st_ino);
    info.writable = ::access(root.path.c_str(), W_OK) == 0;
    info.free = free_space(root.path);
    return info;
}

Bytes measure_write_speed(const RootInfo& root) {
    if (!root.writable || root.free.value < 4 * kSpeedBytes) return {};
    std::string path = root.path + "/.ringmaster-speed-XXXXXX";
    const UniqueFd fd(::mkostemp(path.data(), O_CLOEXEC));
    if (!fd) return {};
    ::unlink(path.c_str());
    const auto start = std::chrono::steady_clock::now();
    if (!write_all(fd.get(), kSpeedBytes)) return {};
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return {static_cast<std::int64_t>(static_cast<double>(kSpeedBytes) /
                                      std::max(taken.count(), 1e-6))};
}

Status write_nonce(const std::string& directory, const std::string& nonce) {
    RM_RETURN_IF_ERROR(check_nonce(nonce));
    const std::string path = nonce_file(directory, nonce);
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd) return system_error("cannot write", path, errno);
    return {};
}

Result<bool> has_nonce(const std::string& directory, const std::string& nonce) {
    RM_RETURN_IF_ERROR(check_nonce(nonce));
    // Opens the file instead of only looking it up: a network file system then asks its server.
    const std::string path = nonce_file(directory, nonce);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (fd) return true;
    if (errno == ENOENT) return false;
    return system_error("cannot open", path, errno);
}

void remove_nonce(const std::string& directory, const std::string& nonce) {
    if (check_nonce(nonce)) ::unlink(nonce_file(directory, nonce).c_str());
}

void remove_old_nonces(const std::string& directory) {
    std::error_code failed;
    fs::directory_iterator at(directory, failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
        struct stat status {};
        const std::string path = at->path().string();
        if (!at->path().filename().string().starts_with(kNoncePrefix)) continue;
        if (::lstat(path.c_str(), &status) != 0) continue;
        if (std::time(nullptr) - status.st_mtime > kOld) ::unlink(path.c_str());
    }
}

}  // namespace rm
