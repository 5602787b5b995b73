#pragma once

#include <cstdint>
#include <vector>

#include "kernels/meta/device_profile.h"

// Published steps with pipeline parallelism, which the engine does not have: a formula of their
// own, no dry run. Nothing in it was fitted to them.
namespace rm::bench {

// A training step of Llama 3 405B on H100 (arXiv:2407.21783, table 4): a data rank sends `batch`
// sequences, one each micro-batch, through 16 ranks of layers, each of 8 tensor ranks.
struct PipelinedRun {
    int devices = 0;
    int context_ranks = 1;
    int data = 1;
    std::int64_t context = 0;
    int batch = 0;
    double published = 0;  // FLOP/s of a device
};
std::vector<PipelinedRun> llama3_runs();

// Seconds of one micro-batch in one layer, forward and backward, on one device.
struct LayerSeconds {
    double products = 0;
    double attention = 0;
    double elementwise = 0;
    double tensor = 0;   // waits for gathers and sums of the tensor ranks
    double context = 0;  // waits for keys and values of the context ranks
    double all() const { return products + attention + elementwise + tensor + context; }
};
struct PipelinedStep {
    LayerSeconds layer;
    double bubble = 0;         // waits for the pipeline to fill and drain, over the work
    double seconds = 0;        // of a step
    double flops_per_sec = 0;  // of a device, by causal FLOPs
};
PipelinedStep pipelined_step(const PipelinedRun& run, const DeviceProfile& profile);

}  // namespace rm::bench
