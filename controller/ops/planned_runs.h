#pragma once

#include <vector>

#include "controller/ops/context.h"
#include "spec/plan.h"
#include "spec/report.h"

namespace rm {

// An attempt that was predicted, and the last steps that its rank 0 reported, newest first.
struct PlannedRun {
    JobId job;
    Epoch epoch;
    int stage = 0;  // the stage that the prediction is of, as reports count them
    PlanPrediction predicted;
    std::vector<StepReport> last;
    Seconds measured_step;  // that is kept of it; 0: none
    WallTime ended;         // zero while it lives

    // The reports of `stage` alone.
    std::vector<StepReport> last_of_stage() const;
};

// Those that live.
std::vector<PlannedRun> planned_runs(OpsContext& ops);
// Those that live, or have ended since.
std::vector<PlannedRun> planned_runs(OpsContext& ops, WallTime ended_since);

// There must be some.
Seconds median_step(std::vector<StepReport> steps);

}  // namespace rm
