#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/kernels.h"

// For backends whose attention returns normalised results per block of keys, such as cuDNN's:
// `out` and `lse` over some keys are merged into the running state.
namespace rm {

struct AttentionMerge {
    AttentionState state;
    TensorView out;  // (T, Hq, D) compute
    TensorView lse;  // (T, Hq) accum, natural log, -inf where the row saw no key
};

namespace cuda {
void run(const AttentionMerge& op, const Launch& where);
}  // namespace cuda

}  // namespace rm
