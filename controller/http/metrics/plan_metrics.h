#pragma once

#include <string>
#include <vector>

#include "controller/ops/planned_runs.h"

namespace rm {

// Metrics: the figures of runs over those of their plans.
std::string plan_metrics(const std::vector<PlannedRun>& runs);

}  // namespace rm
