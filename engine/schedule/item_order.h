#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/meta/schedule.h"

// The order that a schedule needs and has. Work is numbered by stream: the first of each is
// 1, and 0 is none.
namespace rm {

// For every work item, by stream, the last work queued before it there that touches bytes it
// touches, one of the two writing. Streams run in order, so ordered after that one is ordered after
// all. It depends on no event: only on who touches what.
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

// Vector clocks: by stream, the last work of each stream that comes before what is queued next.
class StreamClocks {
public:
    // Borrows the schedule.
    explicit StreamClocks(const StepSchedule& schedule);

    void pass(std::uint32_t item);  // the next one

    std::span<const std::uint32_t> of(std::size_t stream) const {
        return std::span(now_).subspan(stream * num_streams_, num_streams_);
    }
    // Whether a wait that comes next is for anything its stream is not after already.
    bool adds_order(const ScheduleItem& wait) const;

    // To go over the items from here more than once: what later records note is noted again before
    // anything waits for it, so where the streams are is all there is to put back.
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
