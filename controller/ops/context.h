#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "controller/core/input.h"
#include "controller/core/jobs/make_snapshot.h"
#include "controller/discovery/reconcile.h"
#include "controller/loops/control_loop.h"
#include "controller/loops/update_signal.h"
#include "controller/store/space_guard.h"
#include "controller/store/telemetry_store.h"
#include "planner/child/planning_child.h"

namespace rm {

// The dependencies of the API's operations. One file per RPC in this folder; operations take
// messages and return Results, which rpc/ turns into gRPC calls.
struct OpsContext {
    ControlLoop& control;
    TelemetryReader& telemetry;
    UpdateSignal& updates;
    const Clock& clock;
    std::function<std::uint64_t()> random;
    const SpaceGuard& space;
    Planner planner = {};      // answers while a caller waits; throws where it fails or takes long
    MeasuredLinks links = {};  // of the last surveys
    PlanDetailer detailer = {};
    std::function<MachinesView()> machines = [] { return MachinesView(); };  // outside read()

    Now now() const { return {clock.wall(), control.steady_now()}; }
};

// The context of a streaming call.
struct StreamCall {
    std::function<bool()> cancelled;
};

}  // namespace rm
