#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/cuda/matmul/matmul.h"
#include "kernels/prepared_weight.h"

// The launchers: one file per op family, compiled by nvcc for `cuda` and as C++ for `emu`. Operands
// have been checked when they come here: bf16 activations, f32 sums and weights. Those with
// products or scratch are given where.matmul and where.workspace.
namespace rm::cuda {

// Products of bf16 take either orientation.
using DevicePreparedWeight = DenseWeight<DType::bf16>;
inline const DevicePreparedWeight& weight_of(const PreparedWeight* prepared) {
    return own_weight<DevicePreparedWeight>("a device", prepared);
}

// Codes of W and of W^T, which have one scale, or one for each block of 128 x 128.
class DeviceFp8Weight final : public PreparedWeight {
public:
    DeviceFp8Weight(Device& device, std::int64_t num_rows, std::int64_t num_columns,
                    WeightForm form);
    static Bytes bytes(std::int64_t num_rows, std::int64_t num_columns, WeightForm form);
    WeightForm form() const override { return form_; }
    std::int64_t num_rows() const override { return plain_->dim(0); }
    std::int64_t num_columns() const override { return plain_->dim(1); }
    // (N, K) and (K, N). Scales of blocks are (fp8_blocks(N), fp8_blocks(K)), turned around too.
    Fp8Matrix plain() const { return {plain_, blocks() ? block_scales(0) : scale()}; }
    Fp8Matrix turned() const { return {turned_, blocks() ? block_scales(1) : scale()}; }
    bool blocks() const { return form_ == WeightForm::fp8_blocks; }
    TensorView amax() const { return scalars_->rows(kAmax, 1); }  // of a weight with one scale

private:
    // f32: a scale and a maximum, each at a multiple of 16 bytes; or the scales of all blocks
    // twice.
    static constexpr std::int64_t kAmax = 4, kNumScalars = 8;
    static std::int64_t num_scalars(std::int64_t num_rows, std::int64_t num_columns,
                                    WeightForm form);
    TensorView scale() const { return scalars_->rows(0, 1); }
    TensorView block_scales(int turned) const;

    WeightForm form_;
    Tensor plain_, turned_, scalars_;
};
inline const DeviceFp8Weight& fp8_weight_of(const PreparedWeight* prepared) {
    return own_weight<DeviceFp8Weight>("a device", prepared);
}
void prepare(const TensorView& weight, const DeviceFp8Weight& prepared, const Launch& where);
void prepare(const Fp8Matrix& weight, const DeviceFp8Weight& prepared, const Launch& where);

// `workspace_bytes` of the ops that take a workspace; reads shapes only.
#define RM_OP(Op)                                              \
    Bytes workspace_bytes(const Op& op, const MatMul& matmul); \
    void run(const Op& op, const Launch& where);
RM_EACH_OP(RM_OP)
#undef RM_OP

}  // namespace rm::cuda
