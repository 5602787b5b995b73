#include "base/os/unique_fd.h"

#include <cerrno>

namespace rm {

std::int64_t read_at(int fd, std::int64_t at, std::span<std::byte> out) {
    std::int64_t done = 0;
    while (done < std::ssize(out)) {
        const auto rest = out.subspan(static_cast<std::size_t>(done));
        const ssize_t got = ::pread(fd, rest.data(), rest.size(), at + done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += got;
    }
    return done;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace rm
