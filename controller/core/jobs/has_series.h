#pragma once

#include "controller/core/state.h"

namespace rm {

// Whether a run has series: it has had devices, and not ended before the last scrapes.
bool has_series(const State& state, const Job& job, WallTime now);

}  // namespace rm
