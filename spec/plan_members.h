#pragma once

#include "spec/member.h"
#include "spec/plan.h"

namespace rm {

// See spec/member.h. The names state the units.
template <typename Visit>
void describe(Visit& visit, Like<PlanPrediction> auto& predicted) {
    auto& [step, all, device, host] = predicted;
    visit_named(visit, {"step_seconds", "all_seconds", "device_bytes", "host_bytes"}, step, all,
                device, host);
}

}  // namespace rm
