#include "engine/model/block.h"

#include <cmath>

// The page to read first. Every GEMM over tokens is one tile; a chunk is only what moves together.
// Names: x residual stream, normed its RMSNorm, d_ gradients. Views of the current tile end in no
// suffix.
namespace rm {
namespace {

double attention_scale(const ModelConfig& model) {
    return 1 / std::sqrt(static_cast<double>(model.head_dim));
}

// A (rows, heads, head dim) tensor as a matrix, for GEMMs.
TensorView flat(const TensorView& tensor) {
    return tensor.reshaped({tensor.dim(0), tensor.dim(1) * tensor.dim(2)});
}

void project_tile(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                  const HeadExchange::TokenSide& tokens, const TokenRange& tile) {
    const Ops& run = c.ops;
    const TokenRange shard = c.tiles.shard(tile);
    const KeyValueRows kv = key_value(tokens.kv);
    const TensorView q = at(tokens.q, tile);
    const TensorView k = at(kv.k, tile);
    const TensorView v = at(kv.v, tile);
    const TensorView cos = at(c.rope_cos, tile);
    const TensorView sin = at(c.rope_sin, tile);
    // 1. normalise
    run(RmsNormFwd{at(act.x, shard), w.attention_norm.weight, c.tiles.place(tile),
                   at(act.rstd, shard), c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile);
    // 2-4. queries, keys, values
    run(LinearFwd{normed, w.q.prepared, flat(q)});
    run(LinearFwd{normed, w.k.prepared, flat(k)});
    run(LinearFwd{normed, w.v.prepared, flat(v)});
    // 5-6. rotate
    run(RopeApply{q, cos, sin, Rotation::forward});
    run(RopeApply{k, cos, sin, Rotation::forward});
}

void attend(const BlockContext& c, LayerActivations& act, KvStream& kv) {
    const Ops& run = c.ops;
    const AttentionState state = c.scratch.state();
    // 7. the state has seen no key
    run(AttentionBegin{state});
    // 8. every block of keys and values, each over all query chunks
    for (int block = 0; block < kv.num_blocks(); ++block) {
        const KvBlock source = kv.next();
        for (const QueryChunk& chunk : c.runs.query_chunks) {
            run(AttentionFwd{
                {at(state.acc, chunk.range), at(state.m, chunk.range), at(state.l, chunk.range)},
                at(act.q, chunk.range),
                source.k,
                source.v,
                chunk.runs,
                source.runs,
                attention_scale(c.model)});
        }
        kv.done();
    }
    // 9. normalise by the row sums
    run(AttentionFinish{state, c.heads.attention_out(act), act.lse});
}

void finish_tile(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                 const TensorView& x_next, const TokenRange& tile) {
    const Ops& run = c.ops;
    const TokenRange shard = c.tiles.shard(tile);
    const TensorView x_mid = at(act.x_mid, shard);
    const TensorView y = at(x_next, shard);
    const TensorView gate = at(act.gate, tile);
    const TensorView up = at(act.up, tile);
    const TensorView h = c.scratch.h->rows(0, tile.count);
    // 10-11. x_mid = x + out Wo^T
    run(Copy{at(act.x, shard), x_mid});
    c.tiles.add_linear(run, tile, flat(at(act.out, tile)), w.o.prepared, x_mid);
    // 12. normalise
    run(RmsNormFwd{x_mid, w.mlp_norm.weight, c.tiles.place(tile), at(act.rstd_mid, shard),
                   c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile);
    // 13-15. gate, up, silu(gate) * up
    run(LinearFwd{normed, w.gate.prepared, gate});
    run(LinearFwd{normed, w.up.prepared, up});
    run(SwigluFwd{gate, up, h});
    // 16-17. x_next = x_mid + h Wdown^T
    run(Copy{x_mid, y});
    c.tiles.add_linear(run, tile, h, w.down.prepared, y);
}

void finish_tile_backward(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                          const HeadExchange::TokenSide& tokens, const TokenRange& tile) {
    const Ops& run = c.ops;
    const TokenRange shard = c.tiles.shard(tile);
    const TensorView d_x = at(c.scratch.d_x, shard);
    const TensorView x_mid = at(act.x_mid, shard);
    const TensorView rstd = at(act.rstd_mid, shard);
    const TensorView gate = at(act.gate, tile);
    const TensorView up = at(act.up, tile);
    const TensorView out = at(act.out, tile);
    const TensorView d_out = at(tokens.d_out, tile);
    const TensorView d_normed = c.tiles.partial(tile);
    const TensorView h = c.scratch.h->rows(0, tile.count);
    const TensorView d_h = c.scratch.d_h->rows(0, tile.count);
    const TensorView d_up = c.scratch.d_up->rows(0, tile.count);
    // 17, 15. h again, then its gradient and that of Wdown
    run(SwigluFwd{gate, up, h});
    const TensorView d_y = c.tiles.gather(run, tile, d_x);
    run(LinearBwdWeight{d_y, h, w.down.grad});
    run(LinearBwdInput{d_y, w.down.prepared, d_h});
    run(SwigluBwd{d_h, gate, up, d_h, d_up});
    // 12. normed again; 13-14. gate and up
    run(RmsNormFwd{x_mid, w.mlp_norm.weight, c.tiles.place(tile), rstd, c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile);
    run(LinearBwdWeight{d_h, normed, w.gate.grad});
    run(LinearBwdWeight{d_up, normed, w.up.grad});
    run(LinearBwdInput{d_h, w.gate.prepared, d_normed});
    run(LinearBwdInput{d_up, w.up.prepared, d_normed, Into::add});
    run(RmsNormBwd{c.tiles.reduce(run, tile), x_mid, w.mlp_norm.weight, rstd, d_x,
                   w.mlp_norm.grad});
    // 11. out-projection
    const TensorView d_mid = c.tiles.gather(run, tile, d_x);
    run(LinearBwdWeight{d_mid, flat(out), w.o.grad});
    run(LinearBwdInput{d_mid, w.o.prepared, flat(d_out)});
    // 9. what attention's backward needs of its output
    run(AttentionDelta{d_out, out, at(tokens.delta, tile)});
}

TensorView attend_backward(const BlockContext& c, LayerActivations& act, KvGradStream& kv) {
    const Ops& run = c.ops;
    run(FillZero{c.scratch.d_q});
    for (int block = 0; block < kv.num_blocks(); ++block) {
        const KvGradBlock source = kv.next();
        for (const QueryChunk& chunk : c.runs.query_chunks) {
            run(AttentionBwd{at(act.q, chunk.range), source.kv.k, source.kv.v,
                             at(c.scratch.d_out, chunk.range), at(act.lse, chunk.range),
                             at(c.scratch.delta, chunk.range), chunk.runs, source.kv.runs,
                             attention_scale(c.model), at(c.scratch.d_q, chunk.range), source.d_k,
                             source.d_v});
        }
        kv.done();
    }
    return kv.finish();
}

void project_tile_backward(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                           const HeadExchange::TokenSide& tokens, const TensorView& d_kv,
                           const TokenRange& tile) {
    const Ops& run = c.ops;
    const TokenRange shard = c.tiles.shard(tile);
    const KeyValueRows d = key_value(d_kv);
    const TensorView x = at(act.x, shard);
    const TensorView rstd = at(act.rstd, shard);
    const TensorView d_normed = c.tiles.partial(tile);
    const TensorView d_q = c.scratch.d_q_tile->rows(0, tile.count);
    const TensorView d_k = c.scratch.d_k_tile->rows(0, tile.count);
    const TensorView d_v = c.scratch.d_v_tile->rows(0, tile.count);
    const TensorView cos = at(c.rope_cos, tile);
    const TensorView sin = at(c.rope_sin, tile);
    // From sums to the compute type, then 5-6 backwards.
    run(Copy{at(tokens.d_q, tile), d_q});
    run(Copy{at(d.k, tile), d_k});
    run(Copy{at(d.v, tile), d_v});
    run(RopeApply{d_q, cos, sin, Rotation::backward});
    run(RopeApply{d_k, cos, sin, Rotation::backward});
    // 1. normed again; 2-4. queries, keys, values
    run(RmsNormFwd{x, w.attention_norm.weight, c.tiles.place(tile), rstd, c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile);
    run(LinearBwdWeight{flat(d_q), normed, w.q.grad});
    run(LinearBwdWeight{flat(d_k), normed, w.k.grad});
    run(LinearBwdWeight{flat(d_v), normed, w.v.grad});
    run(LinearBwdInput{flat(d_q), w.q.prepared, d_normed});
    run(LinearBwdInput{flat(d_k), w.k.prepared, d_normed, Into::add});
    run(LinearBwdInput{flat(d_v), w.v.prepared, d_normed, Into::add});
    run(RmsNormBwd{c.tiles.reduce(run, tile), x, w.attention_norm.weight, rstd,
                   at(c.scratch.d_x, shard), w.attention_norm.grad});
}

}  // namespace

void block_forward(const BlockContext& c, const LayerWeights& weights, LayerActivations& act,
                   KvStream& kv, const TensorView& x_next) {
    const HeadExchange::TokenSide tokens = c.heads.token_side(act, c.scratch);
    for_each_tile(c.layout,
                  [&](const TokenRange& tile) { project_tile(c, weights, act, tokens, tile); });
    c.heads.queries_to_heads(c.ops, act);
    c.attention_timer.begin(c.ops.stream());
    attend(c, act, kv);
    c.attention_timer.end(c.ops.stream());
    c.heads.out_to_tokens(c.ops, act);
    c.attention_sent();
    for_each_tile(c.layout,
                  [&](const TokenRange& tile) { finish_tile(c, weights, act, x_next, tile); });
}

void block_backward(const BlockContext& c, const LayerWeights& weights, LayerActivations& act,
                    KvGradStream& kv) {
    const HeadExchange::TokenSide tokens = c.heads.token_side(act, c.scratch);
    for_each_tile(c.layout, [&](const TokenRange& tile) {
        finish_tile_backward(c, weights, act, tokens, tile);
    });
    c.heads.out_grads_to_heads(c.ops, c.scratch);
    c.attention_timer.begin(c.ops.stream());
    const TensorView d_attended = attend_backward(c, act, kv);
    c.attention_timer.end(c.ops.stream());
    const TensorView d_kv = c.heads.grads_to_tokens(c.ops, c.scratch, d_attended);
    c.attention_sent();
    for_each_tile(c.layout, [&](const TokenRange& tile) {
        project_tile_backward(c, weights, act, tokens, d_kv, tile);
    });
}

}  // namespace rm
