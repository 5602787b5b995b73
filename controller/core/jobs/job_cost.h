#pragma once

#include "controller/core/state.h"
#include "spec/cost/cost.h"

namespace rm {

// The cost of an attempt, which holds its devices until its end, or until `now`. Energy is that of
// its GPUs' own meters once all its ranks have ended and said theirs, or else that of Rates::power.
RunCost cost_of(const Attempt& attempt, WallTime now);

// The cost of all attempts of a job that have rates; its money, of those in the first's currency.
RunCost cost_of(const State& state, const Job& job, WallTime now);

// The sum that JobSpec::resources.max_cost_usd limits.
double spent_usd(const State& state, const Job& job, WallTime now);

}  // namespace rm
