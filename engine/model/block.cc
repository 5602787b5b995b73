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

template <typename F>
void for_each_tile(const RankLayout& layout, F body) {
    for (const auto& chunk : layout.chunks) {
        for (const TokenRange& tile : chunk)
            body(tile);
    }
}

TensorView at(const TensorView& tensor, const TokenRange& range) {
    return tensor.rows(range.first, range.count);
}

// A (rows, heads, head dim) tensor as a matrix, for GEMMs.
TensorView flat(const TensorView& tensor) {
    return tensor.reshaped({tensor.dim(0), tensor.dim(1) * tensor.dim(2)});
}

struct KeyValueRows {
    TensorView k;
    TensorView v;
};
KeyValueRows key_value(const TensorView& both) {
    const std::int64_t T = both.dim(0) / 2;
    return {both.rows(0, T), both.rows(T, T)};
}

void project_tile(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                  const TokenRange& tile) {
    const Ops& run = c.ops;
    const KeyValueRows kv = key_value(act.kv);
    const TensorView x = at(act.x, tile);
    const TensorView normed = c.scratch.normed->rows(0, tile.count);
    const TensorView q = at(act.q, tile);
    const TensorView k = at(kv.k, tile);
    const TensorView v = at(kv.v, tile);
    const TensorView cos = at(c.rope_cos, tile);
    const TensorView sin = at(c.rope_sin, tile);
    // 1. normalise
    run(RmsNormFwd{x, w.attention_norm.weight, normed, at(act.rstd, tile), c.model.norm_eps});
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
        for (std::size_t i = 0; i < c.layout.chunks.size(); ++i) {
            const TokenRange chunk = c.layout.chunk_range(i);
            run(AttentionFwd{{at(state.acc, chunk), at(state.m, chunk), at(state.l, chunk)},
                             at(act.q, chunk),
                             source.k,
                             source.v,
                             c.runs.local_chunks[i],
                             source.runs,
                             attention_scale(c.model)});
        }
        kv.done();
    }
    // 9. normalise by the row sums
    run(AttentionFinish{state, act.out, act.lse});
}

void finish_tile(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                 const TensorView& x_next, const TokenRange& tile) {
    const Ops& run = c.ops;
    const TensorView x_mid = at(act.x_mid, tile);
    const TensorView y = at(x_next, tile);
    const TensorView gate = at(act.gate, tile);
    const TensorView up = at(act.up, tile);
    const TensorView normed = c.scratch.normed->rows(0, tile.count);
    const TensorView h = c.scratch.h->rows(0, tile.count);
    // 10-11. x_mid = x + out Wo^T
    run(Copy{at(act.x, tile), x_mid});
    run(LinearFwd{flat(at(act.out, tile)), w.o.prepared, x_mid, Into::add});
    // 12. normalise
    run(RmsNormFwd{x_mid, w.mlp_norm.weight, normed, at(act.rstd_mid, tile), c.model.norm_eps});
    // 13-15. gate, up, silu(gate) * up
    run(LinearFwd{normed, w.gate.prepared, gate});
    run(LinearFwd{normed, w.up.prepared, up});
    run(SwigluFwd{gate, up, h});
    // 16-17. x_next = x_mid + h Wdown^T
    run(Copy{x_mid, y});
    run(LinearFwd{h, w.down.prepared, y, Into::add});
}

void finish_tile_backward(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                          const TokenRange& tile) {
    const Ops& run = c.ops;
    const TensorView d_x = at(c.scratch.d_x, tile);
    const TensorView x_mid = at(act.x_mid, tile);
    const TensorView rstd = at(act.rstd_mid, tile);
    const TensorView gate = at(act.gate, tile);
    const TensorView up = at(act.up, tile);
    const TensorView out = at(act.out, tile);
    const TensorView d_out = at(c.scratch.d_out, tile);
    const TensorView normed = c.scratch.normed->rows(0, tile.count);
    const TensorView d_normed = c.scratch.d_normed->rows(0, tile.count);
    const TensorView h = c.scratch.h->rows(0, tile.count);
    const TensorView d_h = c.scratch.d_h->rows(0, tile.count);
    const TensorView d_up = c.scratch.d_up->rows(0, tile.count);
    // 17, 15. h again, then its gradient and that of Wdown
    run(SwigluFwd{gate, up, h});
    run(LinearBwdWeight{d_x, h, w.down.grad});
    run(LinearBwdInput{d_x, w.down.prepared, d_h});
    run(SwigluBwd{d_h, gate, up, d_h, d_up});
    // 12. normed again; 13-14. gate and up
    run(RmsNormFwd{x_mid, w.mlp_norm.weight, normed, rstd, c.model.norm_eps});
    run(LinearBwdWeight{d_h, normed, w.gate.grad});
    run(LinearBwdWeight{d_up, normed, w.up.grad});
    run(LinearBwdInput{d_h, w.gate.prepared, d_normed});
    run(LinearBwdInput{d_up, w.up.prepared, d_normed, Into::add});
    run(RmsNormBwd{d_normed, x_mid, w.mlp_norm.weight, rstd, d_x, w.mlp_norm.grad});
    // 11. out-projection
    run(LinearBwdWeight{d_x, flat(out), w.o.grad});
    run(LinearBwdInput{d_x, w.o.prepared, flat(d_out)});
    // 9. what attention's backward needs of its output
    run(AttentionDelta{d_out, out, at(c.scratch.delta, tile)});
}

TensorView attend_backward(const BlockContext& c, LayerActivations& act, KvGradStream& kv) {
    const Ops& run = c.ops;
    run(FillZero{c.scratch.d_q});
    for (int block = 0; block < kv.num_blocks(); ++block) {
        const KvGradBlock source = kv.next();
        for (std::size_t i = 0; i < c.layout.chunks.size(); ++i) {
            const TokenRange chunk = c.layout.chunk_range(i);
            run(AttentionBwd{at(act.q, chunk), source.kv.k, source.kv.v, at(c.scratch.d_out, chunk),
                             at(act.lse, chunk), at(c.scratch.delta, chunk), c.runs.local_chunks[i],
                             source.kv.runs, attention_scale(c.model), at(c.scratch.d_q, chunk),
                             source.d_k, source.d_v});
        }
        kv.done();
    }
    return kv.finish();
}

void project_tile_backward(const BlockContext& c, const LayerWeights& w, LayerActivations& act,
                           const TensorView& d_kv, const TokenRange& tile) {
    const Ops& run = c.ops;
    const KeyValueRows d = key_value(d_kv);
    const TensorView x = at(act.x, tile);
    const TensorView rstd = at(act.rstd, tile);
    const TensorView normed = c.scratch.normed->rows(0, tile.count);
    const TensorView d_normed = c.scratch.d_normed->rows(0, tile.count);
    const TensorView d_q = c.scratch.d_q_tile->rows(0, tile.count);
    const TensorView d_k = c.scratch.d_k_tile->rows(0, tile.count);
    const TensorView d_v = c.scratch.d_v_tile->rows(0, tile.count);
    const TensorView cos = at(c.rope_cos, tile);
    const TensorView sin = at(c.rope_sin, tile);
    // From sums to the compute type, then 5-6 backwards.
    run(Copy{at(c.scratch.d_q, tile), d_q});
    run(Copy{at(d.k, tile), d_k});
    run(Copy{at(d.v, tile), d_v});
    run(RopeApply{d_q, cos, sin, Rotation::backward});
    run(RopeApply{d_k, cos, sin, Rotation::backward});
    // 1. normed again; 2-4. queries, keys, values
    run(RmsNormFwd{x, w.attention_norm.weight, normed, rstd, c.model.norm_eps});
    run(LinearBwdWeight{flat(d_q), normed, w.q.grad});
    run(LinearBwdWeight{flat(d_k), normed, w.k.grad});
    run(LinearBwdWeight{flat(d_v), normed, w.v.grad});
    run(LinearBwdInput{flat(d_q), w.q.prepared, d_normed});
    run(LinearBwdInput{flat(d_k), w.k.prepared, d_normed, Into::add});
    run(LinearBwdInput{flat(d_v), w.v.prepared, d_normed, Into::add});
    run(RmsNormBwd{d_normed, x, w.attention_norm.weight, rstd, at(c.scratch.d_x, tile),
                   w.attention_norm.grad});
}

}  // namespace

void block_forward(const BlockContext& context, const LayerWeights& weights, LayerActivations& act,
                   KvStream& kv, const TensorView& x_next) {
    for_each_tile(context.layout,
                  [&](const TokenRange& tile) { project_tile(context, weights, act, tile); });
    context.attention_timer.begin(context.ops.stream());
    attend(context, act, kv);
    context.attention_timer.end(context.ops.stream());
    for_each_tile(context.layout, [&](const TokenRange& tile) {
        finish_tile(context, weights, act, x_next, tile);
    });
}

void block_backward(const BlockContext& context, const LayerWeights& weights, LayerActivations& act,
                    KvGradStream& kv) {
    for_each_tile(context.layout, [&](const TokenRange& tile) {
        finish_tile_backward(context, weights, act, tile);
    });
    context.attention_timer.begin(context.ops.stream());
    const TensorView d_kv = attend_backward(context, act, kv);
    context.attention_timer.end(context.ops.stream());
    for_each_tile(context.layout, [&](const TokenRange& tile) {
        project_tile_backward(context, weights, act, d_kv, tile);
    });
}

}  // namespace rm
