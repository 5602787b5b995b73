#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "spec/cost/cost.h"
#include "spec/job_spec.h"
#include "spec/plan.h"
#include "spec/reason.h"
#include "topology/links.h"

// The input of a plan: plain values, which can be sent to another process.
namespace rm {

// unreachable: its node has no session, but may be back in a moment. missing: the node has had no
// session for long; an attempt may still hold the device. unfit: its worker says that no job may
// use it.
enum class Availability { free, busy, unreachable, drained, missing, unfit };

struct PlanningDevice {
    DeviceId id;
    std::string kind;
    std::string build;  // of its worker; the ranks of an attempt share one
    std::string nccl;   // the version on its node; empty: none
    Availability availability = Availability::free;
    std::string
        held_by;        // "job abc123", "what may be left of attempt 7"; why it is unfit; or empty
    Bytes memory;       // a CPU slot's is its share of the host's; 0: unknown
    Bytes host_memory;  // a rank's share of the host's, beside a GPU; 0: unknown
    int num_threads = 1;  // of a CPU slot
    int profile = -1;     // its place in PlanningSnapshot::profiles; -1: none was measured
};

struct PlanningJob {
    JobId id;
    JobSpec spec;
    WallTime waiting_since;  // steady; its submission or the end of its newest attempt
    std::vector<DeviceId> excluded;
    Reason waits;          // why it may not start yet on any device; empty: it may
    int files = -1;        // its place in PlanningSnapshot::files; -1: no node declares a root
    double spent_usd = 0;  // that its attempts have cost
};

// Where the files of a job are.
struct PlanningFiles {
    struct Place {
        std::string against;  // why this node cannot be used; empty: it can
        std::string place;    // nodes where it is equal can be used together
    };
    std::map<NodeId, Place> nodes;
    Reasons reasons;  // why some nodes cannot be used
    Reason waits;     // the answers that the job waits for; empty: none
};

// By the type of compute.
struct MeasuredSpeeds {
    std::string bf16, fp32;  // docs/formats/device_profile.md; empty: not measured
    // Their times are multiplied by this, after earlier runs; 0: by nothing.
    double bf16_correction = 0, fp32_correction = 0;
};

struct PlanningSnapshot {
    std::uint64_t version = 0;  // State::planning_version
    WallTime now;               // steady
    // Once a job that does not fit has waited this long, later jobs no longer pass it.
    Seconds max_bypass;
    std::vector<PlanningJob> pending;  // in the order of service: priority, then age
    // Pending jobs beyond the limit of a pass, whose reasons do not say so yet.
    std::vector<JobId> behind;
    std::vector<PlanningDevice> devices;  // by registration of their node, then by number
    std::vector<PlanningFiles> files;     // jobs with the same files share one
    // Surveyed links of some or all nodes. Empty: none are known; ranks go in order of
    // registration.
    LinkGraph links = {};
    std::vector<MeasuredSpeeds> profiles = {};
    // Where no plan fits, the reasons name changes that do, which take seconds to find.
    bool advise = false;
    bool by_rule = false;  // nothing is searched: shape_by_rule()
    PriceList prices = {};
    // A plan of the one pending job that was made before: the question is about it, in detail
    // (planner/child/plan_detail.h), and not for decisions.
    std::optional<Plan> recorded = {};
};

}  // namespace rm
