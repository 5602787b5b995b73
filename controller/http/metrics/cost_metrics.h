#pragma once

#include <string>
#include <vector>

#include "controller/core/state.h"
#include "spec/cost/cost.h"

namespace rm {

// The cost of a run, restarts included.
struct RunBill {
    JobId job;
    RunCost cost;
};
// Bills of the jobs that have had devices and have not ended, or ended within the last 2 minutes.
std::vector<RunBill> run_bills(const State& state, WallTime now);

// Metrics: what runs have cost so far, and their energy.
std::string cost_metrics(const std::vector<RunBill>& bills);

}  // namespace rm
