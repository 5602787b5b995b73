#pragma once

#include "kernels/kernels.h"

namespace rm {

inline TensorView at(const TensorView& tensor, const TokenRange& range) {
    return tensor.rows(range.first, range.count);
}

// Keys and values travel and lie together: key rows, then as many value rows.
struct KeyValueRows {
    TensorView k;
    TensorView v;
};
inline KeyValueRows key_value(const TensorView& both) {
    const std::int64_t rows = both.dim(0) / 2;
    return {both.rows(0, rows), both.rows(rows, rows)};
}

// Kernels with the workspace and stream they run on, so that a schedule reads as a list of calls.
// Borrows all three.
class Ops {
public:
    Ops(Kernels& kernels, Workspace workspace, Stream& stream)
        : kernels_(kernels), workspace_(workspace), stream_(stream) {}

    void operator()(const LinearFwd& op) const { kernels_.linear_fwd(op, workspace_, stream_); }
    void operator()(const LinearBwdInput& op) const {
        kernels_.linear_bwd_input(op, workspace_, stream_);
    }
    void operator()(const LinearBwdWeight& op) const {
        kernels_.linear_bwd_weight(op, workspace_, stream_);
    }
    void operator()(const RmsNormFwd& op) const { kernels_.rmsnorm_fwd(op, stream_); }
    void operator()(const RmsNormBwd& op) const { kernels_.rmsnorm_bwd(op, workspace_, stream_); }
    void operator()(const RopeTable& op) const { kernels_.rope_table(op, stream_); }
    void operator()(const RopeApply& op) const { kernels_.rope_apply(op, stream_); }
    void operator()(const SwigluFwd& op) const { kernels_.swiglu_fwd(op, stream_); }
    void operator()(const SwigluBwd& op) const { kernels_.swiglu_bwd(op, stream_); }
    void operator()(const EmbeddingFwd& op) const { kernels_.embedding_fwd(op, stream_); }
    void operator()(const EmbeddingBwd& op) const { kernels_.embedding_bwd(op, stream_); }
    void operator()(const LinearCrossEntropy& op) const {
        kernels_.linear_cross_entropy(op, workspace_, stream_);
    }
    void operator()(const HeadStatistics& op) const {
        kernels_.head_statistics(op, workspace_, stream_);
    }
    void operator()(const CombineHeadStatistics& op) const {
        kernels_.combine_head_statistics(op, stream_);
    }
    void operator()(const HeadBwd& op) const { kernels_.head_bwd(op, workspace_, stream_); }
    void operator()(const AttentionBegin& op) const { kernels_.attention_begin(op, stream_); }
    void operator()(const AttentionFwd& op) const {
        kernels_.attention_fwd(op, workspace_, stream_);
    }
    void operator()(const AttentionFinish& op) const { kernels_.attention_finish(op, stream_); }
    void operator()(const AttentionDelta& op) const { kernels_.attention_delta(op, stream_); }
    void operator()(const AttentionBwd& op) const {
        kernels_.attention_bwd(op, workspace_, stream_);
    }
    void operator()(const FillZero& op) const { kernels_.fill_zero(op, stream_); }
    void operator()(const Copy& op) const { kernels_.copy(op, stream_); }
    void operator()(const Add& op) const { kernels_.add(op, stream_); }
    void operator()(const CopyHeads& op) const { kernels_.copy_heads(op, stream_); }
    void operator()(const SumParts& op) const { kernels_.sum_parts(op, stream_); }
    void operator()(const SumSquares& op) const { kernels_.sum_squares(op, workspace_, stream_); }
    void operator()(const ClipFactor& op) const { kernels_.clip_factor(op, stream_); }
    void operator()(const AdamW& op) const { kernels_.adamw(op, stream_); }

    Kernels& kernels() const { return kernels_; }
    Stream& stream() const { return stream_; }

private:
    Kernels& kernels_;
    Workspace workspace_;
    Stream& stream_;
};

}  // namespace rm
