#pragma once

#include "engine/model/flop_counter.h"
#include "engine/model/stream_order.h"
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
    Ops(Kernels& kernels, Workspace workspace, Stream& stream, PendingWaits* waits = nullptr)
        : kernels_(kernels), workspace_(workspace), stream_(stream), waits_(waits) {}

    void operator()(const LinearFwd& op) const { ready(op).linear_fwd(op, workspace_, stream_); }
    void operator()(const LinearBwdInput& op) const {
        ready(op).linear_bwd_input(op, workspace_, stream_);
    }
    void operator()(const LinearBwdWeight& op) const {
        ready(op).linear_bwd_weight(op, workspace_, stream_);
    }
    void operator()(const RmsNormFwd& op) const { ready(op).rmsnorm_fwd(op, stream_); }
    void operator()(const RmsNormBwd& op) const { ready(op).rmsnorm_bwd(op, workspace_, stream_); }
    void operator()(const RopeTable& op) const { ready(op).rope_table(op, stream_); }
    void operator()(const RopeApply& op) const { ready(op).rope_apply(op, stream_); }
    void operator()(const SwigluFwd& op) const { ready(op).swiglu_fwd(op, stream_); }
    void operator()(const SwigluBwd& op) const { ready(op).swiglu_bwd(op, stream_); }
    void operator()(const EmbeddingFwd& op) const { ready(op).embedding_fwd(op, stream_); }
    void operator()(const EmbeddingBwd& op) const { ready(op).embedding_bwd(op, stream_); }
    void operator()(const LinearCrossEntropy& op) const {
        ready(op).linear_cross_entropy(op, workspace_, stream_);
    }
    void operator()(const HeadStatistics& op) const {
        ready(op).head_statistics(op, workspace_, stream_);
    }
    void operator()(const CombineHeadStatistics& op) const {
        ready(op).combine_head_statistics(op, stream_);
    }
    void operator()(const HeadBwd& op) const { ready(op).head_bwd(op, workspace_, stream_); }
    void operator()(const AttentionBegin& op) const { ready(op).attention_begin(op, stream_); }
    void operator()(const AttentionFwd& op) const {
        ready(op).attention_fwd(op, workspace_, stream_);
    }
    void operator()(const AttentionFinish& op) const { ready(op).attention_finish(op, stream_); }
    void operator()(const AttentionDelta& op) const { ready(op).attention_delta(op, stream_); }
    void operator()(const AttentionBwd& op) const {
        ready(op).attention_bwd(op, workspace_, stream_);
    }
    void operator()(const FillZero& op) const { ready(op).fill_zero(op, stream_); }
    void operator()(const Copy& op) const { ready(op).copy(op, stream_); }
    void operator()(const Add& op) const { ready(op).add(op, stream_); }
    void operator()(const CopyHeads& op) const { ready(op).copy_heads(op, stream_); }
    void operator()(const SumParts& op) const { ready(op).sum_parts(op, stream_); }
    void operator()(const SumSquares& op) const { ready(op).sum_squares(op, workspace_, stream_); }
    void operator()(const ClipFactor& op) const { ready(op).clip_factor(op, stream_); }
    void operator()(const AdamW& op) const { ready(op).adamw(op, stream_); }

    Kernels& kernels() const { return kernels_; }
    // FLOPs queued since the last call.
    double take_flops() const { return flops_.take(); }
    Stream& stream() const { return stream_; }

private:
    template <typename Op>
    Kernels& ready(const Op& op) const {
        flops_.add(op);
        if (waits_ == nullptr) return kernels_;
        if (waits_->has_pending()) waits_->flush();
        return kernels_;
    }

    Kernels& kernels_;
    Workspace workspace_;
    Stream& stream_;
    PendingWaits* waits_;
    mutable FlopCounter flops_;
};

}  // namespace rm
