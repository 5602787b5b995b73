#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "controller/loops/control_loop.h"
#include "controller/loops/update_signal.h"
#include "controller/ops/now.h"
#include "controller/store/space_guard.h"
#include "controller/store/telemetry_store.h"

namespace rm {

// What the operations of the API need. One file per RPC beside this; they speak messages and
// Results, rpc/ turns them into gRPC calls.
struct OpsContext {
    ControlLoop& control;
    TelemetryReader& telemetry;
    UpdateSignal& updates;
    const Clock& clock;
    std::function<std::uint64_t()> random;
    const SpaceGuard& space;

    Now now() const { return {clock.wall(), control.steady_now()}; }
};

// Of a streaming call.
struct StreamCall {
    std::function<bool()> cancelled;
};

}  // namespace rm
