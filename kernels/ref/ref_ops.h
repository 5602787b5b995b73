#pragma once

#include "kernels/kernels.h"

// The oracle's mathematics, one function per op of kernels.h, run at once on the calling thread.
// Every floating tensor is f64. Sums run in ascending token order, straight into their target, so
// that cutting an op along its tokens changes no bit.
namespace rm::ref {

class RefPreparedWeight final : public PreparedWeight {
public:
    RefPreparedWeight(Device& device, std::int64_t num_rows, std::int64_t num_columns)
        : weight_(device, MemoryKind::weights, DType::f64, {num_rows, num_columns}) {}
    std::int64_t num_rows() const override { return weight_->dim(0); }
    std::int64_t num_columns() const override { return weight_->dim(1); }
    const TensorView& view() const { return weight_; }  // (N, K)

private:
    Tensor weight_;
};

const TensorView& weight_of(const PreparedWeight* prepared);

void linear_fwd(const LinearFwd& op);
void linear_bwd_input(const LinearBwdInput& op);
void linear_bwd_weight(const LinearBwdWeight& op);
void rmsnorm_fwd(const RmsNormFwd& op);
void rmsnorm_bwd(const RmsNormBwd& op);
void rope_table(const RopeTable& op);
void rope_apply(const RopeApply& op);
void swiglu_fwd(const SwigluFwd& op);
void swiglu_bwd(const SwigluBwd& op);
void embedding_fwd(const EmbeddingFwd& op);
void embedding_bwd(const EmbeddingBwd& op);
void linear_cross_entropy(const LinearCrossEntropy& op);
void head_statistics(const HeadStatistics& op);
void combine_head_statistics(const CombineHeadStatistics& op);
void head_bwd(const HeadBwd& op);
void attention_begin(const AttentionBegin& op);
void attention_fwd(const AttentionFwd& op);
void attention_finish(const AttentionFinish& op);
void attention_delta(const AttentionDelta& op);
void attention_bwd(const AttentionBwd& op);
void fill_zero(const FillZero& op);
void copy(const Copy& op);
void add(const Add& op);
void copy_heads(const CopyHeads& op);
void sum_parts(const SumParts& op);
void sum_squares(const SumSquares& op);
void clip_factor(const ClipFactor& op);
void adamw(const AdamW& op);

}  // namespace rm::ref
