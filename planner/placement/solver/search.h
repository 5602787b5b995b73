#pragma once

#include <functional>

#include "planner/placement/devices.h"
#include "planner/placement/solver/evaluator.h"

namespace rm {

struct SearchLimits {
    std::uint64_t seed = 1;
    std::int64_t budget = 0;  // evaluations
    const std::function<bool()>& cancelled;
};

struct SolverResult {
    std::vector<Endpoint> placement;
    PlacementScore score;
    std::int64_t evaluations = 0;
    bool cancelled = false;
};

// Improves the evaluator's placement. Most moves begin at a rank of a bottleneck: blocks of ranks
// (one rank, a tensor x ulysses group, the ranks of a node) trade places with each other or with
// free devices, or a run of blocks is reversed or shifted. The search keeps a move if the step is
// faster, or as fast and less crowded; after many moves without progress it makes a few random
// moves and keeps them unless it ends up worse.
SolverResult search_locally(const PlacementProblem& problem, Evaluator& evaluator,
                            const DeviceTable& devices, const SearchLimits& limits);

struct ExactResult {
    std::vector<Endpoint> placement;
    PlacementScore score;
    bool proved = false;  // false: the budget ran out, or the search was cancelled
};

// The best placement by branch and bound. Ranks are placed in order; adding ranks can only slow a
// partial placement, so it is dropped when no better than the best whole one. Devices of a node
// that are alike are tried once. `known` is the placement to beat.
ExactResult solve_exactly(const PlacementProblem& problem, Evaluator& evaluator,
                          const DeviceTable& devices, const std::vector<Endpoint>& known,
                          std::int64_t budget, const std::function<bool()>& cancelled);

}  // namespace rm
