#pragma once

#include "spec/cost/cost_members.h"
#include "spec/job_members.h"
#include "spec/member.h"
#include "spec/plan.h"

namespace rm {

// See spec/member.h. The names state the units.
template <typename Visit>
void describe(Visit& visit, Like<PlanPrediction> auto& predicted) {
    auto& [step, all, device, host, correction] = predicted;
    visit_named(visit, {"step_seconds", "all_seconds", "device_bytes", "host_bytes", "correction"},
                step, all, device, host, correction);
}

template <typename Visit>
void describe(Visit& visit, Like<Plan> auto& plan) {
    auto& [mesh, zero, placement, memory, network, timeout, predicted, rates] = plan;
    visit(named("mesh", Presence::sent), mesh);
    visit_named(visit,
                {"zero", "placement", "memory", "network", "collective_timeout_seconds",
                 "predicted", "rates"},
                zero, placement, memory, network, timeout, predicted, rates);
}

}  // namespace rm
