#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/meta/schedule.h"

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

}  // namespace rm
