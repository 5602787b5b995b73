#pragma once

#include <vector>

#include "base/mesh.h"
#include "base/model_preset.h"

namespace rm::bench {

// The job that ranks as threads train, over links on which every message takes `delay`.
struct OverlapRig {
    Mesh mesh;
    ModelConfig model;
    std::int64_t context = 0;
    int zero = 0;      // ZeRO stage
    double delay = 0;  // seconds
    int repeats = 7;
};

// Seconds of a pass over one micro-batch, each the mean of the ranks.
struct PassTimes {
    double all = 0;        // the pass from its start to its end
    double attention = 0;  // within it, waits for hops included
    double ring = 0;       // within that: compute waiting for hops
    double gather = 0;     // compute waiting for weights
    double reduce = 0;     // compute waiting for gradients to be summed
};
struct StepTimes {
    PassTimes forward;
    PassTimes backward;  // with the head
};

// One thread of compute per rank, on the CPU in f32. The first step is not counted.
std::vector<StepTimes> run_rig(const OverlapRig& rig);

}  // namespace rm::bench
