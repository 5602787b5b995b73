#pragma once

#include <string>
#include <vector>

#include "controller/core/state.h"

// What a planner needs to know, copied out of the state.
namespace rm {

enum class Availability { free, busy, unreachable, drained };

struct PlanningDevice {
    DeviceId id;
    std::string kind;
    std::string build;  // of its worker; the ranks of an attempt share one
    Availability availability = Availability::free;
    std::string held_by;  // "job abc123", "what may be left of attempt 7"; empty unless busy
};

struct PlanningJob {
    JobId id;
    JobSpec spec;
    WallTime waiting_since;  // since its submission or the end of its newest attempt
    std::vector<DeviceId> excluded;
    std::string waits;  // why it may not start yet, whatever is free; empty: it may
};

struct PlanningSnapshot {
    std::uint64_t version = 0;  // State::planning_version
    WallTime now;
    std::vector<PlanningJob> pending;  // in the order they are to be served: priority, then age
    // Further ones that have yet to be told so: a pass looks at the first kMaxPlanned only.
    std::vector<JobId> behind;
    std::vector<PlanningDevice> devices;  // by registration of their node, then by number
};

constexpr std::size_t kMaxPlanned = 1000;
// The blocking reason of jobs beyond.
std::string behind_reason();

PlanningSnapshot planning_snapshot(const State& state, WallTime now);

}  // namespace rm
