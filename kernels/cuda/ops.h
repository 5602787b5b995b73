#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/matmul.h"
#include "kernels/kernels.h"

// The launchers: one file per op family, compiled by nvcc for `cuda` and as C++ for `emu`. Operands
// have been checked when they come here: bf16 activations, f32 sums and weights. Those with
// products or scratch are given where.matmul and where.workspace.
namespace rm::cuda {

// A weight (N, K) in bf16, row-major: products take it either way round.
class DevicePreparedWeight final : public PreparedWeight {
public:
    DevicePreparedWeight(Device& device, std::int64_t num_rows, std::int64_t num_columns)
        : weight_(device, MemoryKind::weights, DType::bf16, {num_rows, num_columns}) {}
    std::int64_t num_rows() const override { return weight_->dim(0); }
    std::int64_t num_columns() const override { return weight_->dim(1); }
    const TensorView& view() const { return weight_; }  // (N, K) bf16

private:
    Tensor weight_;
};
const DevicePreparedWeight& weight_of(const PreparedWeight* prepared);

// `workspace_bytes` of the ops that take a workspace; reads shapes only.
#define RM_OP(Op)                                              \
    Bytes workspace_bytes(const Op& op, const MatMul& matmul); \
    void run(const Op& op, const Launch& where);
RM_EACH_OP(RM_OP)
#undef RM_OP

}  // namespace rm::cuda
