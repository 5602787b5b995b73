#pragma once

#include "base/result.h"
#include "bench/engine/hard_traces.h"

namespace rm::bench {

struct HardArguments {
    std::uint64_t num_seeds = 200;  // from 1
    HardArena arena;
    bool chosen = false;
};

// Plans hard traces on one thread, prints how long that took, and says whether all reached their
// capacity within a minute.
Result<bool> plan_hard_traces(const HardArguments& arguments);

}  // namespace rm::bench
