#include "engine/attention/head_exchange.h"

namespace rm {
namespace {

TensorView with_heads(const TensorView& rows) {  // (tokens, heads) as (tokens, heads, 1)
    return rows.reshaped({rows.dim(0), rows.dim(1), 1});
}

}  // namespace

HeadExchange::HeadExchange(const RankStreams& streams, StepMemory& memory, const ModelConfig& model,
                           const RankLayout& layout, const RankShapes& shapes)
    : memory_(memory), ulysses_(layout.ulysses), index_(layout.ulysses_index), exchange_(streams) {
    const std::int64_t group = model.num_query_heads / model.num_kv_heads;
    const HeadShare heads = head_share(model, layout.tensor, layout.tensor_index);
    const std::int64_t run = shapes.attended_q / shapes.attended_kv;
    for (int rank = 0; rank < ulysses_; ++rank) {
        const std::int64_t first = rank * shapes.attended_q;
        queries_.push_back({{first, 0, shapes.attended_q}});
        std::vector<HeadRun>& used = kv_.emplace_back();
        for (std::int64_t i = 0; i < shapes.attended_kv; ++i) {
            const std::int64_t query = heads.q_first + first + i * run;
            used.push_back({query / group - heads.kv_first, i, 1});
            if (used.back().here != i) same_kv_heads_ = false;
        }
    }
    if (shapes.attended_kv != shapes.Hk) same_kv_heads_ = false;
}

// Block `rank` of a tensor that holds the tokens of every ulysses rank in turn.
TensorView HeadExchange::block(const TensorView& blocks, int rank) const {
    const std::int64_t rows = blocks.dim(0) / ulysses_;
    return blocks.rows(rank * rows, rows);
}

void HeadExchange::exchange(const std::vector<std::pair<TensorView, TensorView>>& out_and_in) {
    if (ulysses_ == 1) return;
    exchange_([&](Communicator& communicator) {
        for (const auto& [out, in] : out_and_in)
            communicator.all_to_all(GroupKey::ulysses, out, in);
    });
}

// Cuts tokens by heads into a block for each rank; this rank's block goes to `own` directly.
void HeadExchange::scatter(const Ops& ops, const HeadRuns& runs, const TensorView& tokens,
                           const TensorView& send, const TensorView& own) const {
    for (int rank = 0; rank < ulysses_; ++rank) {
        const TensorView target = block(rank == index_ ? own : send, rank);
        for (const HeadRun& run : runs[usize(rank)])
            ops(CopyHeads{tokens, target, run.here, run.attended, run.count});
    }
}

// The reverse: brings the heads of these tokens together from the blocks of all ranks.
void HeadExchange::gather(const Ops& ops, const HeadRuns& runs, const TensorView& own,
                          const TensorView& received, const TensorView& tokens, Into into) const {
    if (into == Into::add) ops(FillZero{tokens});
    for (int rank = 0; rank < ulysses_; ++rank) {
        const TensorView source = block(rank == index_ ? own : received, rank);
        for (const HeadRun& run : runs[usize(rank)])
            ops(CopyHeads{source, tokens, run.attended, run.here, run.count, into});
    }
}

void HeadExchange::project_to_heads(const Ops& ops, const Sides& q, const Sides& kv) {
    const ArenaTensor q_blocks = memory_.on_device({"ulysses q"}, q.attended);
    const ArenaTensor kv_blocks = memory_.on_device({"ulysses kv"}, kv.attended);
    const KeyValueRows tokens = key_value(kv.tokens), send = key_value(kv_blocks),
                       heads = key_value(kv.attended);
    scatter(ops, queries_, q.tokens, q_blocks, q.attended);
    scatter(ops, kv_, tokens.k, send.k, heads.k);
    scatter(ops, kv_, tokens.v, send.v, heads.v);
    exchange({{q_blocks, q.attended}, {send.k, heads.k}, {send.v, heads.v}});
}

void HeadExchange::out_to_tokens(const Ops& ops, const Sides& out) {
    const ArenaTensor blocks = memory_.on_device({"ulysses out"}, out.attended);
    exchange({{out.attended, blocks}});
    gather(ops, queries_, out.attended, blocks, out.tokens, Into::overwrite);
}

void HeadExchange::out_grads_to_heads(const Ops& ops, const Sides& d_out, const Sides& delta) {
    const ArenaTensor blocks = memory_.on_device({"ulysses d_out"}, d_out.attended);
    const ArenaTensor delta_blocks = memory_.on_device({"ulysses delta"}, delta.attended);
    scatter(ops, queries_, d_out.tokens, blocks, d_out.attended);
    scatter(ops, queries_, with_heads(delta.tokens), with_heads(delta_blocks),
            with_heads(delta.attended));
    exchange({{blocks, d_out.attended}, {delta_blocks, delta.attended}});
}

void HeadExchange::grads_to_tokens(const Ops& ops, const Sides& d_q, const Sides& d_kv) {
    const ArenaTensor blocks = memory_.on_device({"ulysses d_q"}, d_q.attended);
    const ArenaTensor kv_blocks = memory_.on_device({"ulysses d_kv"}, d_kv.attended);
    const KeyValueRows heads = key_value(d_kv.attended), received = key_value(kv_blocks),
                       tokens = key_value(d_kv.tokens);
    exchange({{d_q.attended, blocks}, {heads.k, received.k}, {heads.v, received.v}});
    gather(ops, queries_, d_q.attended, blocks, d_q.tokens, Into::overwrite);
    gather(ops, kv_, heads.k, received.k, tokens.k, Into::add);
    gather(ops, kv_, heads.v, received.v, tokens.v, Into::add);
}

}  // namespace rm
