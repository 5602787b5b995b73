#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.h"

namespace rm {

// The job with sequences of another length, as many of them a step and as many steps.
JobSpec with_context(const JobSpec& spec, std::int64_t context);

// The longest context of the longest stage that some plan fits, in steps of an eighth of it; 0: not
// even 4,096 tokens. A line through the memory of two contexts leads to it. Errors: those of
// search_plans.
Result<std::int64_t> longest_context(const SearchQuestion& question);

// The fewest devices, at most the fleet's, on which some plan fits; 0: too few. Takes it that more
// devices hold what fewer do.
Result<int> fewest_devices(const SearchQuestion& question);

// The fastest plan on 1, 2, 4 and so on or all devices, whichever number holds its devices for the
// least device time, which money is in proportion to; nothing: no plan fits on any. The job's own
// mesh and the question's stay, resources.devices does not.
std::optional<RankedPlan> cheapest_plan(const SearchQuestion& question);

// How many times as fast a plan is as the fastest one on so many devices.
struct SpeedUp {
    int devices = 0;
    double times = 1;
};
struct FastestPlan {
    RankedPlan plan;
    std::optional<SpeedUp> over;  // the next smaller number; nothing: no plan fits on fewer
};
// The one of cheapest_plan's plans that finishes the job first, on the fewest devices where several
// do; nothing: no plan fits on any.
std::optional<FastestPlan> fastest_plan(const SearchQuestion& question);

// A change after which some plan fits, and its fastest plan.
struct Remedy {
    std::string change;  // "16 devices"
    RankedPlan plan;
};
// The same machines, but so many devices: where they can be had.
using LargerFleet = std::function<Result<FleetSpec>(int devices)>;
// Changes of a job that does not fit, each alone enough: first those that cost nothing but time,
// then more devices (of the fleet, or of a larger one unless that is null), then a shorter context.
Result<std::vector<Remedy>> remedies_for(const SearchQuestion& question, const LargerFleet& larger);

}  // namespace rm
