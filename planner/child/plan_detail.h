#pragma once

#include "planner/search/plan_detail.h"
#include "ringmaster/v1/planning.pb.h"

namespace rm {

struct PlanDetail {
    PlannedStep step;
    MeshRanking ranking;
};

// The snapshot's `recorded` plan in detail, beside a search for its job on the snapshot's devices.
// Errors: those of planned_step.
Result<PlanDetail> detail_of(const PlanningSnapshot& snapshot);

ringmaster::v1::PlanningDetail to_proto(const Result<PlanDetail>& detail);

}  // namespace rm
