#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace rm {

// Owns a file descriptor.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    ~UniqueFd() { reset(); }
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        reset();
        fd_ = std::exchange(other.fd_, -1);
        return *this;
    }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

// Both retry after a signal or a short count and set errno on failure.
// Fills `out` from byte `at` up to the end of the file; returns the number of bytes, or -1.
std::int64_t read_at(int fd, std::int64_t at, std::span<std::byte> out);
bool write_all(int fd, std::span<const std::byte> bytes);

}  // namespace rm
