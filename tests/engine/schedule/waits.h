#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/schedule/races.h"
#include "kernels/meta/schedule.h"

// Finds out which waits of a schedule are needed, and for what.
namespace rm::test {

struct WaitFinding {
    std::uint32_t wait = 0;   // item
    std::vector<Race> races;  // without it, the first; empty: the wait is redundant
};
// Requires a schedule without races; CheckError describes one. Removes each wait alone: of two
// equivalent waits both are redundant, but only one of them can go.
std::vector<WaitFinding> examine_waits(const StepSchedule& schedule);

// Waits that look alike, as the same wait of every layer does.
struct WaitSite {
    std::string stream;   // that waits
    std::string next;     // op that follows there; empty: none
    std::string awaited;  // stream
    std::string last;     // op before the record there; empty: none
    std::int64_t count = 0;
    std::int64_t redundant = 0;
    std::vector<Race> races;  // of the first that is not redundant
};
// Sorted by the first wait of each site.
std::vector<WaitSite> wait_sites(const StepSchedule& schedule,
                                 std::span<const WaitFinding> findings);

}  // namespace rm::test
