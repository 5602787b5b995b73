#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/matmul/matmul.h"

// FP8 with scales of blocks: the cast and the product, both kernels of our own. cuBLASLt multiplies
// operands with such scales on no GPU before sm_90.
namespace rm::cuda {

// A weight of any stored type to e4m3. Its scales are (fp8_blocks(N), fp8_blocks(K)) in `plain` and
// turned around in `turned`, which has the same codes.
void round_weight_blocks(const TensorView& weight, const Fp8Matrix& plain, const Fp8Matrix& turned,
                         const Launch& where);

void quantize_blocks(const Quantize& op, const Launch& where);

// `b` may have the scales of a weight, one for 128 of its rows. Sums are fp32, in ascending order
// of blocks; needs no workspace.
void multiply_blocks(const Fp8Product& product, const Launch& where);

}  // namespace rm::cuda
