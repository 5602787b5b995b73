#pragma once

#include <memory>

#include "kernels/bf16.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/simd/loops.h"
#include "kernels/cpu/workers.h"
#include "kernels/kernels.h"
#include "kernels/scratch.h"

// The backend's ops, by family: `run` on the stream's thread; operands have been checked. Where an
// op needs a workspace, `scratch_bytes` says how much.
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
    const DType dtype = tensor.dtype();
    if (dtype == DType::f32) return visit.template operator()<float>(context.loops.rows_f32);
    RM_CHECK(dtype == DType::bf16, "{}: cpu computes in f32 or bf16, not in {}", op,
             to_string(dtype));
    visit.template operator()<Bf16>(context.loops.rows_bf16);
}

// A weight W (N, K) as both products want it.
class CpuPreparedWeight final : public PreparedWeight {
public:
    CpuPreparedWeight(std::int64_t num_rows, std::int64_t num_columns, Gemm& gemm, Device& device)
        : num_rows_(num_rows),
          num_columns_(num_columns),
          forward_(gemm.make(num_columns, num_rows, device)),
          backward_(gemm.make(num_rows, num_columns, device)) {}
    std::int64_t num_rows() const override { return num_rows_; }
    std::int64_t num_columns() const override { return num_columns_; }
    PackedMatrix& forward() const { return *forward_; }    // W^T (K, N)
    PackedMatrix& backward() const { return *backward_; }  // W (N, K)

private:
    std::int64_t num_rows_ = 0, num_columns_ = 0;
    std::unique_ptr<PackedMatrix> forward_, backward_;
};
const CpuPreparedWeight& weight_of(const PreparedWeight* prepared);

void prepare(const TensorView& weight, const CpuPreparedWeight& prepared, Context& context);

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

Bytes scratch_bytes(const LinearFwd& op, const Context& context);
Bytes scratch_bytes(const LinearBwdInput& op, const Context& context);
Bytes scratch_bytes(const LinearBwdWeight& op, const Context& context);
Bytes scratch_bytes(const RmsNormBwd& op, const Context& context);
Bytes scratch_bytes(const LinearCrossEntropy& op, const Context& context);
Bytes scratch_bytes(const HeadStatistics& op, const Context& context);
Bytes scratch_bytes(const HeadBwd& op, const Context& context);
Bytes scratch_bytes(const AttentionFwd& op, const Context& context);
Bytes scratch_bytes(const AttentionBwd& op, const Context& context);
Bytes scratch_bytes(const SumSquares& op, const Context& context);

void run(const LinearFwd& op, Workspace workspace, Context& context);
void run(const LinearBwdInput& op, Workspace workspace, Context& context);
void run(const LinearBwdWeight& op, Workspace workspace, Context& context);
void run(const RmsNormFwd& op, Context& context);
void run(const RmsNormBwd& op, Workspace workspace, Context& context);
void run(const RopeTable& op, Context& context);
void run(const RopeApply& op, Context& context);
void run(const SwigluFwd& op, Context& context);
void run(const SwigluBwd& op, Context& context);
void run(const EmbeddingFwd& op, Context& context);
void run(const EmbeddingBwd& op, Context& context);
void run(const LinearCrossEntropy& op, Workspace workspace, Context& context);
void run(const HeadStatistics& op, Workspace workspace, Context& context);
void run(const CombineHeadStatistics& op, Context& context);
void run(const HeadBwd& op, Workspace workspace, Context& context);
void run(const AttentionBegin& op, Context& context);
void run(const AttentionFwd& op, Workspace workspace, Context& context);
void run(const AttentionFinish& op, Context& context);
void run(const AttentionDelta& op, Context& context);
void run(const AttentionBwd& op, Workspace workspace, Context& context);
void run(const FillZero& op, Context& context);
void run(const Copy& op, Context& context);
void run(const Add& op, Context& context);
void run(const CopyHeads& op, Context& context);
void run(const SumParts& op, Context& context);
void run(const SumSquares& op, Workspace workspace, Context& context);
void run(const ClipFactor& op, Context& context);
void run(const AdamW& op, Context& context);

}  // namespace rm::cpu
