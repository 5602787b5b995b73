#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/placement/problem.h"

// Places ranks on devices so that a step's communication takes the least time (placement_cost).
// Small problems are solved by branch and bound, proved optimal; larger ones start from several
// constructed orders and both baselines and are improved by local search: swaps, reversals and
// moves of ranks, of groups and of nodes. Deterministic in problem, seed and budget.
namespace rm {

struct SolveOptions {
    std::uint64_t seed = 1;
    // Most evaluations of local search; 0: depends on the size. The evaluations that a cancelled
    // local search returned, given as budget, reproduce its result.
    std::int64_t budget = 0;
    // Most evaluations that branch and bound may take to prove the optimum; 0: it is not tried.
    std::int64_t exact_budget = 200'000;
    std::function<bool()> cancelled;  // polled now and then; empty: never
};

// Devices in order of registration: node by node as the graph lists them, devices by number. The
// scheduler uses this order without measurements. nullopt if too few devices are usable.
std::optional<std::vector<Endpoint>> registration_order(const PlacementProblem& problem);
// The same with nodes by name (numbers in names by value): how a list of hosts is sorted.
std::optional<std::vector<Endpoint>> node_order(const PlacementProblem& problem);

struct Solution {
    std::vector<Endpoint> placement;  // by rank
    PlacementCost cost;
    std::vector<Endpoint> registration;  // the baselines and their costs
    PlacementCost registration_cost;
    std::vector<Endpoint> by_node;
    PlacementCost by_node_cost;
    std::int64_t evaluations = 0;  // of local search
    bool optimal = false;          // proved
    bool cancelled = false;
};

// Never worse than either baseline. Errors: an invalid graph or traffic (invalid_argument); fewer
// devices than ranks (resource_exhausted), saying how many are missing.
Result<Solution> solve_placement(const PlacementProblem& problem, const SolveOptions& options);

// Checks a solution: its placement is valid (check_placement), and its cost equals placement_cost()
// and does not exceed that of either baseline.
Status check_solution(const PlacementProblem& problem, const Solution& solution);

}  // namespace rm
