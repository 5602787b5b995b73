#include "engine/model/head_exchange.h"

namespace rm {
namespace {

TensorView with_heads(const TensorView& rows) {  // (tokens, heads) as (tokens, heads, 1)
    return rows.reshaped({rows.dim(0), rows.dim(1), 1});
}

}  // namespace

HeadExchange::HeadExchange(const RankStreams& streams, const ModelConfig& model,
                           const RankLayout& layout, const RankShapes& shapes)
    : streams_(streams),
      ulysses_(layout.ulysses),
      index_(layout.ulysses_index),
      shapes_(shapes),
      ready_(streams.kernels.device().make_event()),
      arrived_(streams.kernels.device().make_event()) {
    const std::int64_t group = model.num_query_heads / model.num_kv_heads;
    const HeadShare heads = head_share(model, layout.tensor, layout.tensor_index);
    const std::int64_t run = shapes.attended_q / shapes.attended_kv;
    for (int rank = 0; rank < ulysses_; ++rank) {
        std::vector<std::int64_t>& used = kv_heads_.emplace_back();
        for (std::int64_t i = 0; i < shapes.attended_kv; ++i) {
            const std::int64_t query = heads.q_first + rank * shapes.attended_q + i * run;
            used.push_back(query / group - heads.kv_first);
            if (used.back() != i) same_kv_heads_ = false;
        }
    }
    if (shapes.attended_kv != shapes.Hk) same_kv_heads_ = false;
    if (direct()) return;
    const auto [compute, accum, master] = streams.kernels.types();
    const auto make = [&](DType dtype, std::initializer_list<std::int64_t> shape) {
        return Tensor(streams.kernels.device(), MemoryKind::communication, dtype, shape);
    };
    const RankShapes& s = shapes_;
    q_ = make(compute, {s.T, s.Hq, s.D});
    kv_ = make(compute, {2 * s.T, s.Hk, s.D});
    d_out_ = make(compute, {s.T, s.Hq, s.D});
    delta_ = make(accum, {s.T, s.Hq});
    d_q_ = make(compute, {s.T, s.Hq, s.D});
    d_kv_ = make(accum, {2 * s.T, s.Hk, s.D});
    attention_out_ = make(compute, {s.S, s.attended_q, s.D});
    blocks_ = make(compute, {s.S, s.attended_q, s.D});
    delta_blocks_ = make(accum, {s.S, s.attended_q});
    kv_blocks_ = make(compute, {2 * s.S, s.attended_kv, s.D});
    d_kv_blocks_ = make(accum, {2 * s.S, s.attended_kv, s.D});
    d_q_out_ = make(compute, {s.S, s.attended_q, s.D});
}

HeadExchange::TokenSide HeadExchange::token_side(const LayerActivations& act,
                                                 const Scratch& scratch) const {
    if (direct()) return {act.q, act.kv, scratch.d_out, scratch.delta, scratch.d_q};
    return {q_, kv_, d_out_, delta_, d_q_};
}

TensorView HeadExchange::attention_out(const LayerActivations& act) const {
    return direct() ? act.out.view() : attention_out_.view();
}

// Block `rank` of a tensor that holds the tokens of every ulysses rank in turn.
TensorView HeadExchange::block(const TensorView& blocks, int rank) const {
    const std::int64_t rows = blocks.dim(0) / ulysses_;
    return blocks.rows(rank * rows, rows);
}

void HeadExchange::exchange(const std::vector<std::pair<TensorView, TensorView>>& out_and_in) {
    if (ulysses_ == 1) return;
    streams_.compute.record(*ready_);
    streams_.communication.wait(*ready_);
    for (const auto& [out, in] : out_and_in)
        streams_.communicator.all_to_all(GroupKey::ulysses, out, in);
    streams_.communication.record(*arrived_);
    exposed_.begin(streams_.compute);
    streams_.compute.wait(*arrived_);
    exposed_.end(streams_.compute);
}

// Cuts tokens (T, Hq, D) by heads into a block for each rank; this rank's goes where it is used.
void HeadExchange::scatter_queries(const Ops& ops, const TensorView& tokens, const TensorView& send,
                                   const TensorView& own) const {
    for (int rank = 0; rank < ulysses_; ++rank) {
        const TensorView target = block(rank == index_ ? own : send, rank);
        ops(CopyHeads{tokens, target, rank * shapes_.attended_q, 0, shapes_.attended_q});
    }
}

// The reverse: heads of these tokens from every rank, side by side.
void HeadExchange::join_queries(const Ops& ops, const TensorView& own, const TensorView& received,
                                const TensorView& tokens) const {
    for (int rank = 0; rank < ulysses_; ++rank) {
        const TensorView source = block(rank == index_ ? own : received, rank);
        ops(CopyHeads{source, tokens, 0, rank * shapes_.attended_q, shapes_.attended_q});
    }
}

void HeadExchange::scatter_kv(const Ops& ops, const TensorView& tokens, const TensorView& send,
                              const TensorView& own) const {
    for (int rank = 0; rank < ulysses_; ++rank) {
        const TensorView target = block(rank == index_ ? own : send, rank);
        const auto& heads = kv_heads_[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < heads.size(); ++i)
            ops(CopyHeads{tokens, target, heads[i], static_cast<std::int64_t>(i), 1});
    }
}

void HeadExchange::sum_kv(const Ops& ops, const TensorView& own, const TensorView& received,
                          const TensorView& tokens) const {
    ops(FillZero{tokens});
    for (int rank = 0; rank < ulysses_; ++rank) {
        const TensorView source = block(rank == index_ ? own : received, rank);
        const auto& heads = kv_heads_[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < heads.size(); ++i)
            ops(CopyHeads{source, tokens, static_cast<std::int64_t>(i), heads[i], 1, Into::add});
    }
}

void HeadExchange::queries_to_heads(const Ops& ops, const LayerActivations& act) {
    if (direct()) return;
    const KeyValueRows tokens = key_value(kv_), send = key_value(kv_blocks_),
                       heads = key_value(act.kv);
    scatter_queries(ops, q_, blocks_, act.q);
    scatter_kv(ops, tokens.k, send.k, heads.k);
    scatter_kv(ops, tokens.v, send.v, heads.v);
    exchange({{blocks_, act.q}, {send.k, heads.k}, {send.v, heads.v}});
}

void HeadExchange::out_to_tokens(const Ops& ops, const LayerActivations& act) {
    if (direct()) return;
    exchange({{attention_out_, blocks_}});
    join_queries(ops, attention_out_, blocks_, act.out);
}

void HeadExchange::out_grads_to_heads(const Ops& ops, const Scratch& scratch) {
    if (direct()) return;
    scatter_queries(ops, d_out_, blocks_, scratch.d_out);
    scatter_queries(ops, with_heads(delta_), with_heads(delta_blocks_), with_heads(scratch.delta));
    exchange({{blocks_, scratch.d_out}, {delta_blocks_, scratch.delta}});
}

TensorView HeadExchange::grads_to_tokens(const Ops& ops, const Scratch& scratch,
                                         const TensorView& d_kv) {
    if (direct()) return d_kv;
    const KeyValueRows heads = key_value(d_kv), received = key_value(d_kv_blocks_),
                       tokens = key_value(d_kv_);
    ops(Copy{scratch.d_q, d_q_out_});
    exchange({{d_q_out_, blocks_}, {heads.k, received.k}, {heads.v, received.v}});
    join_queries(ops, d_q_out_, blocks_, d_q_);
    sum_kv(ops, heads.k, received.k, tokens.k);
    sum_kv(ops, heads.v, received.v, tokens.v);
    return d_kv_;
}

}  // namespace rm
