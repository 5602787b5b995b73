#pragma once

#include <map>
#include <set>

#include "base/os/loop.h"
#include "controller/ops/planned_runs.h"

namespace rm {

// Tells the core how long the steps of predicted attempts take: after the first few, each time as
// many again, and at the end. So a run of a million steps leaves some twenty events, and the next
// plan knows what a run that lasts weeks has shown so far.
class MeasureLoop {
public:
    explicit MeasureLoop(OpsContext& ops);

private:
    Seconds look();  // until the next
    bool is_due(const PlannedRun& run, const std::vector<StepReport>& steps);

    OpsContext& ops_;
    std::map<Epoch, std::int64_t> next_;  // step at which a live attempt is measured again
    std::set<Epoch> closed_;              // attempts that were measured after their end
    Loop loop_;
};

}  // namespace rm
