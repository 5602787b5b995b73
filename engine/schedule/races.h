#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/schedule/item_order.h"

namespace rm {

// Two accesses of the same bytes, one of them a write, that no event or join orders.
struct Race {
    std::uint32_t first = 0;  // items
    std::uint32_t second = 0;
    AddressRange bytes;  // where they meet, of their first ranges that do
};
// Names both items' op and stream, and the bytes by buffer and offset.
std::string describe(const StepSchedule& schedule, const Race& race);

// Vector clocks over streams and events. Empty: free of races. At most `limit` are listed, in the
// order of `second`; of a stream's accesses that race with one item, the last.
std::vector<Race> find_races(const StepSchedule& schedule, std::size_t limit = 16);

// Goes over the items from `first` on, where `clocks` are. Stops at the limit.
std::vector<Race> search_races(const StepSchedule& schedule, const Conflicts& conflicts,
                               StreamClocks& clocks, std::uint32_t first, std::size_t limit);

// Work on a buffer that is not ordered after all work on buffers of its arena that had been
// released when it was requested. Whether the two ever share bytes is the plan's choice.
struct ReuseRace {
    std::uint32_t first = 0;   // items
    std::uint32_t second = 0;  // touches `buffer`
    std::uint32_t buffer = 0;
};
std::string describe(const StepSchedule& schedule, const ReuseRace& race);

// For a schedule as it was recorded, where no two buffers share addresses. Without any of these and
// without races (find_races) it is free of races wherever an arena's plan puts its buffers, as long
// as those that live together do not overlap. At most `limit`.
std::vector<ReuseRace> find_reuse_races(const StepSchedule& schedule, std::size_t limit = 16);

}  // namespace rm
