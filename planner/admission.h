#pragma once

#include <variant>

#include "planner/pools.h"

namespace rm {

// The mesh and devices on which a job may run now.
struct Admitted {
    Mesh mesh;
    std::vector<const PlanningDevice*> free;  // by registration; at least one per rank
};

// Decides which jobs of one pass may run now; the caller asks in the order of the queue. A job that
// could run on this cluster but not now lets later ones pass until it has waited max_bypass; then
// the pass keeps for it the free devices of the pool that is nearest to holding it, or of those
// that it names.
class Admission {
public:
    explicit Admission(const PlanningSnapshot& snapshot) : snapshot_(snapshot) {}

    // Admits the job, or returns every reason against it, at least one.
    std::variant<Admitted, Reasons> admit(const PlanningJob& job);
    // No later job gets these devices.
    void take(const JobId& job, const std::vector<DeviceId>& devices);

private:
    void reserve_if_overdue(const PlanningJob& job, const std::vector<const Pool*>& candidates);
    void reserve_named(const PlanningJob& job, const std::vector<const Pool*>& candidates);

    const PlanningSnapshot& snapshot_;
    Claims claims_;
};

}  // namespace rm
