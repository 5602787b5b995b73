#pragma once

#include <memory>
#include <vector>

#include "engine/streams/ops.h"
#include "engine/windows/rank_layout.h"
#include "engine/windows/step_memory.h"

namespace rm {

// Ulysses (Jacobs et al., DeepSpeed-Ulysses): an all-to-all between the ranks of a ulysses group
// trades tokens for heads, so that attention sees all S tokens of the ring slot with a share of the
// heads, and back. If several ranks need a key-value head, each gets a copy, and this rank sums the
// gradients that they return, in rank order, in the accumulation type.
//
// If the group has one rank and attention uses the projected heads unchanged, both sides are the
// same and callers skip the exchange.
class HeadExchange {
public:
    HeadExchange(const RankStreams& streams, StepMemory& memory, const ModelConfig& model,
                 const RankLayout& layout, const RankShapes& shapes);

    // Both sides are the same.
    bool direct() const { return ulysses_ == 1 && same_kv_heads_; }

    // A tensor as the projections see it and as attention sees it. Shapes: tokens (T, Hq, D) and
    // (2T, Hk, D), attended (S, attended_q, D) and (2S, attended_kv, D); delta without D.
    struct Sides {
        TensorView tokens;
        TensorView attended;
    };
    void project_to_heads(const Ops& ops, const Sides& q, const Sides& kv);
    void out_to_tokens(const Ops& ops, const Sides& out);
    void out_grads_to_heads(const Ops& ops, const Sides& d_out, const Sides& delta);
    // d_q in the compute type; d_kv in accum, sums of replicated heads.
    void grads_to_tokens(const Ops& ops, const Sides& d_q, const Sides& d_kv);

    StreamTimer& exposed() { return exchange_.exposed(); }

private:
    // Consecutive heads of this rank's tokens that a ulysses rank attends with.
    struct HeadRun {
        std::int64_t here = 0;      // the first one among the heads of the tokens
        std::int64_t attended = 0;  // and among those of that rank's attention
        std::int64_t count = 0;
    };
    using HeadRuns = std::vector<std::vector<HeadRun>>;  // by ulysses rank

    void exchange(const std::vector<std::pair<TensorView, TensorView>>& out_and_in);
    TensorView block(const TensorView& blocks, int rank) const;
    void scatter(const Ops& ops, const HeadRuns& runs, const TensorView& tokens,
                 const TensorView& send, const TensorView& own) const;
    void gather(const Ops& ops, const HeadRuns& runs, const TensorView& own,
                const TensorView& received, const TensorView& tokens, Into into) const;

    StepMemory& memory_;
    int ulysses_;
    int index_;
    bool same_kv_heads_ = true;
    HeadRuns queries_, kv_;
    ExposedExchange exchange_;
};

}  // namespace rm
