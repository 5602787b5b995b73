#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/kernels.h"

// The launchers: one file per op family, compiled by nvcc for `cuda` and as C++ for `emu`. Operands
// have been checked (kernels/checks.h) when they come here. bf16 activations, fp32 sums and
// weights.
namespace rm::cuda {

void run(const RmsNormFwd& op, const Launch& where);

}  // namespace rm::cuda
