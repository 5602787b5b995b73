#pragma once

#include <memory>

#include "kernels/bf16.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/simd/loops.h"
#include "kernels/cpu/workers.h"
#include "kernels/prepared_weight.h"
#include "kernels/scratch.h"

// The backend's ops, by family. `run` runs on the stream's thread, with checked operands.
namespace rm::cpu {

constexpr std::int64_t kTile = simd::kTileRows;
constexpr std::int64_t kElements = 16384;  // that one thread takes at a time

struct Context {
    const simd::Loops& loops;
    DType compute = DType::f32;
    const simd::ProductLoops& products;     // of the compute type
    const simd::AttentionLoops& attention;  // of the compute type
    std::unique_ptr<Gemm> gemm;
    Workers workers;
};

// visit.operator()<T>(loops over rows of T), where the tensor stores T.
template <typename Visit>
void with_rows(std::string_view op, const TensorView& tensor, const Context& context,
               const Visit& visit) {
    with_element(op, tensor.dtype(), [&]<typename E>() {
        if constexpr (std::is_same_v<E, float>) {
            visit.template operator()<float>(context.loops.rows_f32);
        } else {
            visit.template operator()<Bf16>(context.loops.rows_bf16);
        }
    });
}

// A weight W (N, K) as both products want it. In FP8 these hold the numbers that it is rounded to,
// of which the compute type holds each exactly.
class CpuPreparedWeight final : public PreparedWeight {
public:
    CpuPreparedWeight(std::int64_t num_rows, std::int64_t num_columns, WeightForm form,
                      const Context& context, Device& device);
    WeightForm form() const override { return form_; }
    std::int64_t num_rows() const override { return num_rows_; }
    std::int64_t num_columns() const override { return num_columns_; }
    PackedMatrix& forward() const { return *forward_; }    // W^T (K, N)
    PackedMatrix& backward() const { return *backward_; }  // W (N, K)
    const TensorView& rounded() const { return rounded_; }

private:
    std::int64_t num_rows_ = 0, num_columns_ = 0;
    WeightForm form_;
    std::unique_ptr<PackedMatrix> forward_, backward_;
    Tensor rounded_;  // (N, K) compute; in FP8 alone: what is packed
};
Bytes prepared_bytes(std::int64_t num_rows, std::int64_t num_columns, WeightForm form,
                     const Context& context);
inline const CpuPreparedWeight& weight_of(const PreparedWeight* prepared) {
    return own_weight<CpuPreparedWeight>("cpu", prepared);
}

void prepare(const TensorView& weight, const CpuPreparedWeight& prepared, Context& context);
void prepare(const Fp8Matrix& weight, const CpuPreparedWeight& prepared, Context& context);
// The numbers of a matrix, (rows, columns) as its codes are.
void widen(const Fp8Matrix& matrix, const TensorView& to, Context& context);
// Into prepared.rounded(): as the compute type has it, and then to FP8.
void round_weight(const TensorView& weight, const CpuPreparedWeight& prepared, Context& context);

// FP8 with scales of blocks. The numbers of a matrix, `to` (rows, columns) as its codes lie, or
// (columns, rows) turned around; a weight's numbers become those that their codes stand for.
void quantize_blocks(const Quantize& op, Context& context);
void widen_blocks(const Fp8Matrix& matrix, const TensorView& to, Context& context);
void widen_turned_blocks(const Fp8Matrix& matrix, const TensorView& to, Context& context);
void round_blocks(const TensorView& weight, Context& context);

// y (T, N) = or += x (T, K) B by all workers. Lays out what they need for it.
class Product {
public:
    Product(const PackedMatrix& matrix, const Workers& workers, Scratch& scratch);
    void run(const TensorView& x, const TensorView& y, Into into, Context& context) const;

private:
    const PackedMatrix& matrix_;
    std::int64_t worker_floats_ = 0;
    float* workers_ = nullptr;
};

// d_w (N, K) += d_y (T, N)^T x (T, K) by all workers, tokens ascending.
class WeightGradient {
public:
    WeightGradient(const Context& context, Scratch& scratch);
    void run(const TensorView& d_y, const TensorView& x, const TensorView& d_w,
             Context& context) const;

private:
    float* workers_ = nullptr;
};

// `scratch_bytes` of the ops that take a workspace.
#define RM_OP(Op)                                              \
    Bytes scratch_bytes(const Op& op, const Context& context); \
    void run(const Op& op, Workspace workspace, Context& context);
RM_EACH_OP(RM_OP)
#undef RM_OP

}  // namespace rm::cpu
