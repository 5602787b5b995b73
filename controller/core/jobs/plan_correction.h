#pragma once

#include "controller/core/state.h"

namespace rm {

// A plan that is wrong time after time is wrong about its device: this is what to multiply the
// times of a kept profile by, after what earlier runs on it took. The median of the newest
// kMostRuns, of which there are kFewestRuns at least, if all of them took longer than the profile
// says, or all shorter, by kWorthIt at least. 0: nothing is known to be wrong. A new measurement of
// the profile begins anew. Runs that took twice or half as long measured something else.
constexpr int kFewestRuns = 3;
constexpr int kMostRuns = 5;
constexpr double kWorthIt = 0.03;

double plan_correction(const State& state, Precision precision, const KeptProfile& profile);

}  // namespace rm
