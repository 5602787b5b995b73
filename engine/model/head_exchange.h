#pragma once

#include <memory>
#include <vector>

#include "engine/model/activations.h"
#include "engine/model/ops.h"
#include "engine/model/rank_streams.h"
#include "engine/model/stream_timer.h"

namespace rm {

// Ulysses (Jacobs et al., DeepSpeed-Ulysses): an all-to-all between the ranks of a ulysses group
// trades tokens for heads, so that attention sees all S tokens of the ring slot with a share of the
// heads, and back. Key-value heads that several ranks need are sent to each; their gradients come
// back from each and are summed here, in rank order, in the accumulation type.
//
// Where the group is one rank and attention's heads are those projected, both sides are the same
// tensors and nothing is copied.
class HeadExchange {
public:
    // What the projections work on: (T, heads here).
    struct TokenSide {
        TensorView q;      // (T, Hq, D) compute
        TensorView kv;     // (2T, Hk, D) compute: keys, then values
        TensorView d_out;  // (T, Hq, D) compute
        TensorView delta;  // (T, Hq) accum
        TensorView d_q;    // (T, Hq, D) accum or compute
    };

    HeadExchange(const RankStreams& streams, const ModelConfig& model, const RankLayout& layout,
                 const RankShapes& shapes);

    TokenSide token_side(const LayerActivations& act, const Scratch& scratch) const;
    // Attention's output before it is sent back, (S, attended_q, D) compute.
    TensorView attention_out(const LayerActivations& act) const;

    // Forward: q and kv to attention; out back into act.out.
    void queries_to_heads(const Ops& ops, const LayerActivations& act);
    void out_to_tokens(const Ops& ops, const LayerActivations& act);
    // Backward: d_out and delta to attention; d_q back, and d_kv (2S, attended_kv, D) accum, which
    // comes back as (2T, Hk, D) accum.
    void out_grads_to_heads(const Ops& ops, const Scratch& scratch);
    TensorView grads_to_tokens(const Ops& ops, const Scratch& scratch, const TensorView& d_kv);

    StreamTimer& exposed() { return exposed_; }

private:
    bool direct() const { return ulysses_ == 1 && same_kv_heads_; }
    void exchange(const std::vector<std::pair<TensorView, TensorView>>& out_and_in);
    TensorView block(const TensorView& blocks, int rank) const;
    void scatter_queries(const Ops& ops, const TensorView& tokens, const TensorView& send,
                         const TensorView& own) const;
    void join_queries(const Ops& ops, const TensorView& own, const TensorView& received,
                      const TensorView& tokens) const;
    void scatter_kv(const Ops& ops, const TensorView& tokens, const TensorView& send,
                    const TensorView& own) const;
    void sum_kv(const Ops& ops, const TensorView& own, const TensorView& received,
                const TensorView& tokens) const;

    RankStreams streams_;
    int ulysses_;
    int index_;
    RankShapes shapes_;
    bool same_kv_heads_ = true;
    // By ulysses rank: which of the key-value heads here its attention uses, in its order.
    std::vector<std::vector<std::int64_t>> kv_heads_;
    // None of these where both sides are the same.
    Tensor q_, kv_, d_out_, delta_, d_q_;  // the token side
    Tensor d_kv_;                          // (2T, Hk, D) accum
    Tensor attention_out_;                 // (S, attended_q, D) compute
    Tensor blocks_;                        // (S, attended_q, D) compute: to send or received
    Tensor delta_blocks_;                  // (S, attended_q) accum
    Tensor kv_blocks_;                     // (2S, attended_kv, D) compute
    Tensor d_kv_blocks_;                   // (2S, attended_kv, D) accum
    Tensor d_q_out_;                       // (S, attended_q, D) compute
    std::unique_ptr<Event> ready_;
    std::unique_ptr<Event> arrived_;
    StreamTimer exposed_;
};

}  // namespace rm
