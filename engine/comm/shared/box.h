#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/os/unique_fd.h"
#include "base/result.h"
#include "engine/comm/shared/bell.h"
#include "engine/comm/shared/byte_ring.h"

namespace rm {

// A file in memory, mapped while this lives.
class Mapping {
public:
    static Result<Mapping> make(int fd, std::size_t bytes);
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping();
    std::span<std::byte> bytes() const { return bytes_; }

private:
    explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
    std::span<std::byte> bytes_;
};

// The beginning of a box.
class BoxHead {
public:
    Bell bell;  // its owner sleeps at it

    // The owner's last words; its peers read them. Called once.
    void leave(const std::string& reason);
    std::optional<std::string> left() const;

private:
    static constexpr std::size_t kLongestReason = 2048;  // cut beyond
    std::atomic<std::uint32_t> reason_size_{0};          // plus one; 0: has not left
    std::array<char, kLongestReason> reason_{};
};

// The memory in which a rank gets what its peers on the same node send: a head, and for each peer a
// ring that the rank reads. The memory has no name, is reserved when it is made, and cannot shrink,
// so that no access to it ever fails; the system frees it with the last process that maps it.
class Box {
public:
    // The bytes of a ring: docs/benchmarks/node-2026-11.md compares sizes.
    static constexpr std::size_t kRingBytes = std::size_t{256} << 10;

    static Result<Box> make(std::size_t num_rings);
    // A peer's, of which this rank writes one ring. Refuses memory that its owner could shrink, or
    // that has no such ring.
    static Result<Box> open(UniqueFd fd, std::size_t ring);

    BoxHead& head() const;
    RingReader reader(std::size_t ring) const;
    RingWriter writer(std::size_t ring) const;
    // For the peers, until each has it.
    int fd() const { return fd_.get(); }
    void close_fd() { fd_.reset(); }

private:
    Box(UniqueFd fd, Mapping memory) : fd_(std::move(fd)), memory_(std::move(memory)) {}
    RingState& state(std::size_t ring) const;
    std::span<std::byte> bytes(std::size_t ring) const;

    UniqueFd fd_;
    Mapping memory_;
};

}  // namespace rm
