#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace rm {

// A bounded ring of bytes in memory that two processes share: one writes, one reads. Positions
// count bytes since the start. The writer's bytes become visible, and the reader's room free, when
// that side publishes its position.
struct RingState {
    // A line of the cache for each: the two sides write them at the same time.
    alignas(64) std::atomic<std::uint64_t> written{0};
    alignas(64) std::atomic<std::uint64_t> read{0};
    // The writer sleeps until the reader has come this far.
    alignas(64) std::atomic<std::uint64_t> wake_writer_at{
        std::numeric_limits<std::uint64_t>::max()};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not be shared");

// One side's view of a ring: the state, and a power of two of bytes.
class RingSide {
public:
    RingSide(RingState& state, std::span<std::byte> bytes);
    std::size_t capacity() const { return bytes_.size(); }

protected:
    // The bytes from a position on, up to the end of the memory; the rest is at its start.
    std::span<std::byte> at(std::uint64_t position, std::size_t count) const;
    // Bytes between the sides; throws CheckError when the other side's position makes no sense.
    std::size_t between(std::uint64_t read, std::uint64_t written) const;

    RingState* state_;
    std::span<std::byte> bytes_;
};

class RingWriter : public RingSide {
public:
    using RingSide::RingSide;

    std::size_t room() const { return capacity() - between(read(), written_); }
    void put(std::span<const std::byte> bytes);  // at most room()
    void publish() { state_->written.store(written_); }

    std::uint64_t written() const { return written_; }
    std::uint64_t read() const { return state_->read.load(); }
    // Asks to be woken when the reader comes to this position. The writer states it before it looks
    // at read() for the last time.
    void wake_at(std::uint64_t position);
    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

private:
    std::uint64_t written_ = 0;
    std::uint64_t wake_at_ = kNever;
};

class RingReader : public RingSide {
public:
    using RingSide::RingSide;

    std::size_t available() const { return between(read_, state_->written.load()); }
    void take(std::span<std::byte> bytes);  // at most available()
    // True when the writer wants to be woken for it.
    bool publish();

private:
    std::uint64_t read_ = 0;
    std::uint64_t published_ = 0;
};

}  // namespace rm
