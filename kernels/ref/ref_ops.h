#pragma once

#include "kernels/prepared_weight.h"

// The oracle's mathematics, one function per op with its checked dims, run at once on the calling
// thread. Every floating tensor is f64. Sums run in ascending token order, straight into their
// target, so that cutting an op along its tokens changes no bit.
namespace rm::ref {

using RefPreparedWeight = DenseWeight<DType::f64>;
inline const TensorView& weight_of(const PreparedWeight* prepared) {
    return own_weight<RefPreparedWeight>("ref", prepared).view();
}

// Every number becomes the one that its code stands for, with one scale for all (e4m3).
void round_to_fp8(const TensorView& weight);
// Likewise, with a scale for each block of 128 x 128.
void round_blocks_to_fp8(const TensorView& weight);
void quantize_blocks(const Quantize& op);
// Adds the effect on the codes in `rows`, by the definition of Fp8Effect.
void add_effect(const Quantize& op);
// The numbers of a matrix with one scale.
void widen(const Fp8Matrix& matrix, const TensorView& to);

#define RM_OP(Op) void run(const Op& op, const Dims& dims);
RM_EACH_OP(RM_OP)
#undef RM_OP

}  // namespace rm::ref
