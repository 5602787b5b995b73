#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/matmul.h"
#include "kernels/kernels.h"

// The launchers: one file per op family, compiled by nvcc for `cuda` and as C++ for `emu`. Operands
// have been checked (kernels/checks.h) when they come here: bf16 activations, f32 sums and weights.
// An op needs a workspace where there is a workspace_bytes for it; reads shapes only.
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

Bytes workspace_bytes(const LinearFwd& op, const MatMul& matmul);
Bytes workspace_bytes(const LinearBwdInput& op, const MatMul& matmul);
Bytes workspace_bytes(const LinearBwdWeight& op, const MatMul& matmul);
Bytes workspace_bytes(const LinearCrossEntropy& op, const MatMul& matmul);
Bytes workspace_bytes(const HeadStatistics& op, const MatMul& matmul);
Bytes workspace_bytes(const HeadBwd& op, const MatMul& matmul);
void run(const LinearFwd& op, MatMul& matmul, Workspace workspace, const Launch& where);
void run(const LinearBwdInput& op, MatMul& matmul, Workspace workspace, const Launch& where);
void run(const LinearBwdWeight& op, MatMul& matmul, Workspace workspace, const Launch& where);
void run(const LinearCrossEntropy& op, MatMul& matmul, Workspace workspace, const Launch& where);
void run(const HeadStatistics& op, MatMul& matmul, Workspace workspace, const Launch& where);
void run(const CombineHeadStatistics& op, const Launch& where);
void run(const HeadBwd& op, MatMul& matmul, Workspace workspace, const Launch& where);

void run(const RmsNormFwd& op, const Launch& where);
Bytes workspace_bytes(const RmsNormBwd& op);
void run(const RmsNormBwd& op, Workspace workspace, const Launch& where);
void run(const RopeTable& op, const Launch& where);
void run(const RopeApply& op, const Launch& where);
void run(const SwigluFwd& op, const Launch& where);
void run(const SwigluBwd& op, const Launch& where);
void run(const EmbeddingFwd& op, const Launch& where);
void run(const EmbeddingBwd& op, const Launch& where);

void run(const AttentionBegin& op, const Launch& where);
void run(const AttentionFwd& op, const Launch& where);
void run(const AttentionFinish& op, const Launch& where);
void run(const AttentionDelta& op, const Launch& where);
Bytes workspace_bytes(const AttentionBwd& op, const GpuProfile& profile);
void run(const AttentionBwd& op, Workspace workspace, const Launch& where);

void run(const FillZero& op, const Launch& where);
void run(const Copy& op, const Launch& where);
void run(const Add& op, const Launch& where);
void run(const CopyHeads& op, const Launch& where);
void run(const SumParts& op, const Launch& where);
Bytes workspace_bytes(const SumSquares& op);
void run(const SumSquares& op, Workspace workspace, const Launch& where);
void run(const ClipFactor& op, const Launch& where);
void run(const AdamW& op, const Launch& where);

}  // namespace rm::cuda
