#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/meta/schedule.h"

namespace rm {

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
