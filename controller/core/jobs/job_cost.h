#pragma once

#include "controller/core/state.h"
#include "spec/cost/cost.h"

namespace rm {

// The cost of an attempt until `now` or until its end: its devices are held as long. Energy is that
// of its GPUs' own meters once all ranks have ended; before, and on CPUs, that of Rates::power.
RunCost cost_of(const Attempt& attempt, WallTime now);

// The cost of all attempts of a job. The money is that of attempts in the currency of the first.
RunCost cost_of(const State& state, const Job& job, WallTime now);

// The sum that JobSpec::resources.max_cost_usd limits.
double spent_usd(const State& state, const Job& job, WallTime now);

}  // namespace rm
