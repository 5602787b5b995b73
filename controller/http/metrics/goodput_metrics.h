#pragma once

#include <string>

#include "controller/core/goodput/goodput_book.h"

namespace rm {

// Metrics: where the wall time of runs has gone, for jobs that wait, run, or ended within the last
// 2 minutes.
std::string goodput_metrics(const GoodputBook& book, const State& state, WallTime now);

}  // namespace rm
