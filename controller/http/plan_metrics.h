#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/ops/context.h"
#include "spec/plan.h"
#include "spec/report.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

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

// The figures of runs beside those of their plans. Thread safe.
class PlanMetrics {
public:
    PlanMetrics();
    ~PlanMetrics();

    // Runs that are not among them have no series any more.
    void update(const std::vector<PlannedRun>& runs);
    std::string expose() const;

private:
    std::shared_ptr<prometheus::Registry> registry_;
};

}  // namespace rm
