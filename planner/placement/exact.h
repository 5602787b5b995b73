#pragma once

#include <functional>

#include "planner/placement/devices.h"
#include "planner/placement/evaluator.h"

namespace rm {

struct ExactResult {
    std::vector<Endpoint> placement;
    PlacementScore score;
    bool proved = false;  // false: the budget ended, or it was cancelled
};

// The best placement by branch and bound. Ranks are placed in order; adding ranks can only slow a
// partial placement, so it is dropped when no better than the best whole one. Devices of a node
// that are alike are tried once. `known` is a placement to begin from.
ExactResult solve_exactly(const PlacementProblem& problem, Evaluator& evaluator,
                          const DeviceTable& devices, const std::vector<Endpoint>& known,
                          std::int64_t budget, const std::function<bool()>& cancelled);

}  // namespace rm
