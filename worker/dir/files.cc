#include "worker/dir/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/os/unique_fd.h"

namespace rm {
namespace {

constexpr std::int64_t kLargestTextFile = 16 << 20;

ErrorCode code_of(int error_number) {
    switch (error_number) {
        case ENOENT:
            return ErrorCode::not_found;
        case EACCES:
        case EPERM:
            return ErrorCode::permission_denied;
        case ENOSPC:
        case EDQUOT:
            return ErrorCode::resource_exhausted;
        default:
            return ErrorCode::internal;
    }
}

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        text.remove_prefix(usize(written));
    }
    return true;
}

}  // namespace

Error system_error(std::string_view what, std::string_view path, int error_number) {
    return make_error(code_of(error_number), "{} {}: {}", what, path, std::strerror(error_number));
}

Status make_room(const std::string& path, std::int64_t bytes) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) return system_error("cannot create", path, errno);
    const int failed = ::posix_fallocate(file.get(), 0, bytes);
    if (failed != 0) return system_error("cannot make room for", path, failed);
    return {};
}

Status write_into_room(const std::string& room, const std::string& path, std::string_view text) {
    // Not truncated first: that would free the blocks.
    const UniqueFd file(::open(room.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return system_error("cannot open", room, errno);
    if (!write_all(file.get(), text) ||
        ::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0 ||
        ::rename(room.c_str(), path.c_str()) != 0) {
        return system_error("cannot write", path, errno);
    }
    return {};
}

Status replace_text_file(const std::string& path, std::string_view text) {
    const std::string aside = format("{}.{}.new", path, ::getpid());
    UniqueFd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) return system_error("cannot create", aside, errno);
    if (!write_all(file.get(), text) || ::rename(aside.c_str(), path.c_str()) != 0) {
        const int error_number = errno;
        ::unlink(aside.c_str());
        return system_error("cannot write", path, error_number);
    }
    return {};
}

Result<std::string> read_text_file(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return system_error("cannot open", path, errno);
    std::string text;
    char block[16384];
    while (true) {
        const ssize_t got = ::read(file.get(), block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error("cannot read", path, errno);
        if (got == 0) return text;
        text.append(block, usize(got));
        if (static_cast<std::int64_t>(text.size()) > kLargestTextFile) {
            return make_error(ErrorCode::resource_exhausted, "{} is larger than {} bytes", path,
                              kLargestTextFile);
        }
    }
}

std::string read_file_piece(const std::string& path, std::int64_t offset, std::int64_t limit) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return {};
    const std::int64_t left = size_of_file(path) - offset;
    std::string piece(usize(std::clamp<std::int64_t>(left, 0, limit)), '\0');
    std::size_t got = 0;
    while (got < piece.size()) {
        const ssize_t n = ::pread(file.get(), piece.data() + got, piece.size() - got,
                                  offset + static_cast<std::int64_t>(got));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        got += usize(n);
    }
    piece.resize(got);
    return piece;
}

std::int64_t size_of_file(const std::string& path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

Status drop_front(const std::string& path, std::int64_t end) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return system_error("cannot open", path, errno);
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (::fallocate(file.get(), mode, 0, end) != 0) {
        return system_error("cannot drop the front of", path, errno);
    }
    return {};
}

Status append_text(const std::string& path, std::string_view text) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file) return system_error("cannot open", path, errno);
    if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
        return {};
    }
    return system_error("cannot append to", path, errno);
}

std::string tail_of_file(const std::string& path, std::int64_t limit) {
    const std::int64_t start = std::max<std::int64_t>(0, size_of_file(path) - limit);
    std::string tail = read_file_piece(path, start, limit);
    if (start > 0) {
        const std::size_t first_line = tail.find('\n');
        if (first_line != std::string::npos && first_line + 1 < tail.size()) {
            tail.erase(0, first_line + 1);
        }
    }
    tail.erase(tail.find_last_not_of(" \n\r\t") + 1);
    return tail;
}

}  // namespace rm
