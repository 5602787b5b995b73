#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "spec/job_spec.h"
#include "spec/reason.h"
#include "topology/links.h"

// The input of a plan: plain values, which can be sent to another process.
namespace rm {

// unreachable: its node has no session, but may be back in a moment. missing: the node has had no
// session for long; an attempt may still hold the device.
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

// Where the files of a job are.
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
    Seconds max_bypass;
    std::vector<PlanningJob> pending;  // in the order they are to be served: priority, then age
    // Further ones that have yet to be told that a pass does not look at them.
    std::vector<JobId> behind;
    std::vector<PlanningDevice> devices;  // by registration of their node, then by number
    std::vector<PlanningFiles> files;     // jobs with the same files share one
    // As surveyed, of some or all nodes. Empty: nothing is known, ranks go in order of
    // registration.
    LinkGraph links = {};
};

}  // namespace rm
