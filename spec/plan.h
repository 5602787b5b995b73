#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "spec/cost/cost.h"
#include "spec/memory_policy.h"
#include "spec/mesh.h"
#include "spec/network.h"

namespace rm {

// The dry run of a plan; zeros: nothing is known.
struct PlanPrediction {
    Seconds step;  // of the stage with the longest context
    Seconds all;   // the steps of all stages
    Bytes device;  // of each rank, all in all
    Bytes host;
    // The times of the device's profile were multiplied by this, as earlier runs took so much more
    // or less than planned; 0: by nothing.
    double correction = 0;
    bool operator==(const PlanPrediction&) const = default;
};

// mesh + placement + memory policy + limits. The planner makes it from a snapshot; the controller
// validates it against the current state before use.
struct Plan {
    Mesh mesh;
    int zero = 0;                     // ZeRO stage
    std::vector<DeviceId> placement;  // indexed by rank
    MemoryPolicy memory;
    NetworkKind network = NetworkKind::gloo;
    Seconds collective_timeout{60};
    PlanPrediction predicted;
    Rates rates;  // of a device, when the plan was made
    bool operator==(const Plan&) const = default;
};

// The cost of all steps; zeros where the plan has no rates or no prediction.
inline RunCost cost_of(const Plan& plan) {
    return cost_of(plan.rates, static_cast<int>(plan.placement.size()), plan.predicted.all);
}

}  // namespace rm
