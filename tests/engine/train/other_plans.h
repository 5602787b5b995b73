#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/schedule/buffers.h"
#include "engine/schedule/races.h"
#include "tests/engine/schedule/lifetimes.h"

namespace rm::test {

// Shows that a wait is needed in another plan of the arenas: one that gives a buffer the bytes of a
// buffer released before it, chosen so that only the wait orders the two.
class OtherPlans {
public:
    // Borrows a schedule as recorded, in which no two buffers share bytes.
    explicit OtherPlans(const StepSchedule& schedule);

    // Returns the races of the first such pair that has any; empty if no pair has.
    std::vector<Race> races_without(std::uint32_t wait) const;

private:
    using Pair = std::pair<std::uint32_t, std::uint32_t>;  // released, then requested
    std::vector<std::uint32_t> touched_by(std::uint32_t item) const;
    std::uint32_t next_work(std::uint32_t item) const;
    std::uint32_t last_work(std::uint32_t item) const;
    std::vector<std::uint32_t> touched_last_before(std::uint32_t buffer) const;
    std::vector<Pair> pairs_around(std::uint32_t wait) const;
    bool fits(const Pair& pair) const;
    enum class End { begin, end };
    void move_ranges(StepSchedule& copy, const AddressRange& from, const AddressRange& room,
                     End end) const;

    const StepSchedule& schedule_;
    BufferIndex index_;
    std::vector<BufferLife> lives_;
    std::vector<std::int64_t> last_touch_;  // of each buffer: an item
};

}  // namespace rm::test
