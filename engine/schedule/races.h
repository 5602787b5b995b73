#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/schedule/item_order.h"

namespace rm {

// Two accesses to the same bytes, at least one a write, that no event or join orders.
struct Race {
    std::uint32_t first = 0;  // items
    std::uint32_t second = 0;
    AddressRange bytes;  // the overlap of their first ranges that overlap
};
// Names both items' op and stream, and the bytes by buffer and offset.
std::string describe(const StepSchedule& schedule, const Race& race);

// Finds races by vector clocks over streams and events. Lists at most `limit`, in the order of
// `second`; of a stream's accesses that race with one item, the last. Empty: free of races.
std::vector<Race> find_races(const StepSchedule& schedule, std::size_t limit = 16);

// Examines the items from `first` on, the position of `clocks`. Stops at the limit.
std::vector<Race> search_races(const StepSchedule& schedule, const Conflicts& conflicts,
                               StreamClocks& clocks, std::uint32_t first, std::size_t limit);

// Work on a buffer that is not ordered after all work on those buffers of its arena that had been
// released at its request. The arena's plan decides whether the two share bytes.
struct ReuseRace {
    std::uint32_t first = 0;   // items
    std::uint32_t second = 0;  // touches `buffer`
    std::uint32_t buffer = 0;
};
std::string describe(const StepSchedule& schedule, const ReuseRace& race);

// For a schedule as it was recorded, in which no two buffers share addresses. If it has none of
// these and no races (find_races), it has none wherever an arena's plan puts its buffers, provided
// that buffers that live together do not overlap. Lists at most `limit`.
std::vector<ReuseRace> find_reuse_races(const StepSchedule& schedule, std::size_t limit = 16);

}  // namespace rm
