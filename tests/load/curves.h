#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace rm::load {

// A question to the curves of a job, with the times of its answers.
struct CurveQuestion {
    std::string what;
    double median = 0;  // seconds
    double worst = 0;
    std::int64_t points = 0;  // of an answer
};

struct CurveLoad {
    std::int64_t steps = 1'000'000;  // of rank 0
    int other_ranks = 0;             // each with as many steps
    int repeats = 20;
};

struct CurveReport {
    Bytes database;  // with its write-ahead log
    Seconds writing;
    std::vector<CurveQuestion> questions;
};

// Keeps the steps of one job in a telemetry.db of its own, as a controller keeps them, and asks for
// its curves. Every number of a report is noisy, but for those that never change in a run.
CurveReport measure_curves(const std::string& state_dir, const CurveLoad& load);

}  // namespace rm::load
