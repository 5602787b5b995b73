#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/links.h"
#include "controller/core/state.h"

// What a planner needs to know, copied out of the state.
namespace rm {

// unreachable: its node has no session, and may be back in a moment. missing: nor had it one for
// kUnreachableAfter; an attempt may hold it all the same.
enum class Availability { free, busy, unreachable, drained, missing };

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
    WallTime waiting_since;  // steady; its submission or the end of its newest attempt
    std::vector<DeviceId> excluded;
    Reason waits;    // why it may not start yet, whatever is free; empty: it may
    int files = -1;  // its place in PlanningSnapshot::files; -1: no node declares a root
};

// Where the files of a job are; core/job_files.h.
struct PlanningFiles {
    struct Place {
        std::string against;  // why this node cannot be used; empty: it can
        std::string place;    // nodes where it is equal can be used together
    };
    std::map<NodeId, Place> nodes;
    Reasons reasons;  // why not all of them can
    Reason waits;     // for what answers; empty: for none
};

struct PlanningSnapshot {
    std::uint64_t version = 0;  // State::planning_version
    WallTime now;               // steady
    // Later jobs may take what one that does not fit waits for, until it has waited so long.
    Seconds max_bypass = kMaxBypass;
    std::vector<PlanningJob> pending;  // in the order they are to be served: priority, then age
    // Further ones that have yet to be told so: a pass looks at the first kMaxPlanned only.
    std::vector<JobId> behind;
    std::vector<PlanningDevice> devices;  // by registration of their node, then by number
    std::vector<PlanningFiles> files;     // jobs with the same files share one
    // As measured, of some or all nodes; not of the state, whoever plans adds it. Empty: nothing is
    // known, ranks go in order of registration.
    LinkGraph links = {};
};

constexpr std::size_t kMaxPlanned = 1000;
// The blocking reason of jobs beyond.
Reason behind_reason();

// The pending jobs that a pass looks at, in its order.
std::vector<JobId> planned_jobs(const State& state);
// Of all nodes that are not gone, as PlanningSnapshot::devices.
std::vector<PlanningDevice> planning_devices(const State& state);
PlanningSnapshot planning_snapshot(const State& state, WallTime now);

}  // namespace rm
