#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/device.h"

namespace rm {

// The waits that must be queued on a stream before more work or a mark.
class PendingWaits {
public:
    virtual ~PendingWaits() = default;
    virtual void flush() = 0;
    bool has_pending() const { return has_pending_; }

protected:
    bool has_pending_ = false;
};

// Makes the records and waits of a rank's streams, and omits waits that follow from earlier ones:
// vector clocks (Fidge 1988, Mattern 1989) hold how far each stream is ordered after each other, in
// the order of the host's calls. An order that another object made is unknown here, which can cost
// an unnecessary wait but never omits a necessary one. Not thread safe.
class StreamOrder {
public:
    static constexpr std::size_t kMaxStreams = 8;
    using VectorClock = std::array<std::int64_t, kMaxStreams>;

    // The point that an event stood for when it was recorded.
    struct Mark {
        const Event* event = nullptr;  // null: nothing to wait for
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
    // Waits for all, starting with marks that no other mark implies: they cover most of the rest.
    void wait_all(Stream& stream, std::span<const Mark> marks);
    bool needs_wait(const Stream& stream, const Mark& mark);
    // Called before a mark of the stream is made. Borrows both; null: none.
    void set_pending(const Stream& stream, PendingWaits* pending);
    // The host has waited until the stream was empty.
    void joined(const Stream& stream);
    // The stream is empty and about to be destroyed; another may take its place.
    void forget(const Stream& stream);

private:
    std::size_t index_of(const Stream& stream);
    void advance(const Stream& stream, std::size_t index);

    std::vector<const Stream*> streams_;  // null: forgotten
    std::array<PendingWaits*, kMaxStreams> pending_{};
    std::array<VectorClock, kMaxStreams> known_{};  // by stream
    VectorClock num_queued_{};                      // of each stream, at its last mark
    std::unordered_map<const Event*, Mark> latest_;
};

}  // namespace rm
