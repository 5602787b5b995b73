#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/device.h"

namespace rm {

// The waits that a stream must be given before more work or a mark.
class PendingWaits {
public:
    virtual ~PendingWaits() = default;
    virtual void flush() = 0;
    bool has_pending() const { return has_pending_; }

protected:
    bool has_pending_ = false;
};

// Records and waits of a rank's streams, without the waits that follow from others: how far every
// stream is known to be ordered after every other is kept as vector clocks (Fidge 1988, Mattern
// 1989), in the order of the host's calls. Order that is not made here is not known here: that
// costs a wait which is not needed, never one that is. One thread.
class StreamOrder {
public:
    static constexpr std::size_t kMaxStreams = 8;
    using VectorClock = std::array<std::int64_t, kMaxStreams>;

    // The point that an event stood for when it was recorded.
    struct Mark {
        const Event* event = nullptr;  // null: nothing, which nobody waits for
        const Stream* stream = nullptr;
        std::size_t index = 0;  // of the stream
        VectorClock clock{};
        // `other` is a mark of the same stream.
        bool is_later_than(const Mark& other) const { return clock[index] > other.clock[index]; }
    };

    // If the stream has been given no work since its last mark, returns that mark.
    Mark record(Stream& stream, Event& event);
    // Returns whether the stream has been given a wait. An event that was recorded elsewhere is
    // always waited for.
    bool wait(Stream& stream, const Event& event);
    bool wait(Stream& stream, const Mark& mark);
    // Orders later work of `stream` after all work that `first` has been given.
    void follow(Stream& stream, Stream& first, Event& event) {
        record(first, event);
        wait(stream, event);
    }
    // For all of them; first for those that do not follow from another, then most of the rest do.
    void wait_all(Stream& stream, std::span<const Mark> marks);
    bool needs_wait(const Stream& stream, const Mark& mark);
    // Asked before a mark of the stream is made. Borrows both; null: nobody.
    void set_pending(const Stream& stream, PendingWaits* pending);
    // The host has waited until the stream was empty.
    void joined(const Stream& stream);

private:
    std::size_t index_of(const Stream& stream);
    void advance(const Stream& stream, std::size_t index);

    std::vector<const Stream*> streams_;
    std::array<PendingWaits*, kMaxStreams> pending_{};
    std::array<VectorClock, kMaxStreams> known_{};  // by stream
    VectorClock num_queued_{};                      // of each stream, at its last mark
    std::unordered_map<const Event*, Mark> latest_;
};

}  // namespace rm
