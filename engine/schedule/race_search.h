#pragma once

#include <vector>

#include "engine/schedule/races.h"
#include "engine/schedule/stream_order.h"

namespace rm {

// Goes over the items from `first` on, where `clocks` are. Stops at the limit.
std::vector<Race> search_races(const StepSchedule& schedule, const Conflicts& conflicts,
                               StreamClocks& clocks, std::uint32_t first, std::size_t limit);

}  // namespace rm
