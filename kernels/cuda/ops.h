#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/matmul/matmul.h"
#include "kernels/prepared_weight.h"

// The launchers: one file per op family, compiled by nvcc for `cuda` and as C++ for `emu`. Operands
// have been checked when they come here: bf16 activations, f32 sums and weights. Those with
// products or scratch are given where.matmul and where.workspace.
namespace rm::cuda {

// Products take either orientation.
using DevicePreparedWeight = DenseWeight<DType::bf16>;
inline const DevicePreparedWeight& weight_of(const PreparedWeight* prepared) {
    return own_weight<DevicePreparedWeight>("a device", prepared);
}

// `workspace_bytes` of the ops that take a workspace; reads shapes only.
#define RM_OP(Op)                                              \
    Bytes workspace_bytes(const Op& op, const MatMul& matmul); \
    void run(const Op& op, const Launch& where);
RM_EACH_OP(RM_OP)
#undef RM_OP

}  // namespace rm::cuda
