#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/meta/schedule.h"

// The order that a schedule needs, and the order that it has. Work is numbered by stream: the first
// of each is 1, and 0 means none.
namespace rm {

// For every work item and stream: the last earlier work of that stream that touches bytes of the
// item, at least one of the two writing. A stream runs in order, so an item that is ordered after
// that work is ordered after all earlier work. Depends on accesses alone, not on events.
class Conflicts {
public:
    explicit Conflicts(const StepSchedule& schedule);

    std::span<const std::uint32_t> of(std::uint32_t item) const {
        return std::span(last_).subspan(item * num_streams_, num_streams_);
    }
    std::uint32_t item(std::size_t stream, std::uint32_t number) const {
        return work_[stream][number - 1];
    }

private:
    std::size_t num_streams_;
    std::vector<std::uint32_t> last_;               // (items, streams)
    std::vector<std::vector<std::uint32_t>> work_;  // items, by stream and number
};

// Vector clocks: for each stream, the last work of every stream that its next item runs after.
class StreamClocks {
public:
    // Borrows the schedule.
    explicit StreamClocks(const StepSchedule& schedule);

    void pass(std::uint32_t item);  // the next one

    std::span<const std::uint32_t> of(std::size_t stream) const {
        return std::span(now_).subspan(stream * num_streams_, num_streams_);
    }
    // Whether `wait`, the next item, orders its stream after anything new.
    bool adds_order(const ScheduleItem& wait) const;

    // Saves and restores the position, to pass over the items more than once: later records write
    // their notes again before any item waits for them, so the streams' positions suffice.
    const std::vector<std::uint32_t>& position() const { return now_; }
    void put_back(const std::vector<std::uint32_t>& position) { now_ = position; }

private:
    std::span<const std::uint32_t> noted(std::uint32_t record) const {
        return std::span(noted_).subspan(record * num_streams_, num_streams_);
    }
    void advance(std::size_t stream, std::span<const std::uint32_t> past);

    const StepSchedule& schedule_;
    std::size_t num_streams_;
    std::vector<std::uint32_t> now_;    // (streams, streams)
    std::vector<std::uint32_t> noted_;  // (items, streams), of records
};

}  // namespace rm
