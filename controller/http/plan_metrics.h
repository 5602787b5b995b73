#pragma once

#include <string>
#include <vector>

#include "controller/ops/context.h"
#include "spec/plan.h"
#include "spec/report.h"

namespace rm {

// The plan of a live attempt and the last steps that its rank 0 reported, newest first.
struct PlannedRun {
    JobId job;
    Epoch epoch;
    int stage = 0;  // the stage that the prediction is of, as reports count them
    PlanPrediction predicted;
    std::vector<StepReport> last;
};
// The live attempts that were predicted.
std::vector<PlannedRun> planned_runs(OpsContext& ops);

// Metrics: the figures of runs over those of their plans.
std::string plan_metrics(const std::vector<PlannedRun>& runs);

}  // namespace rm
