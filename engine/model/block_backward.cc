#include <memory>

#include "engine/model/block_parts.h"
#include "engine/model/host_kv.h"

// The block's backward pass; numbers are those of the forward pass (block.cc).
namespace rm {
namespace {

using namespace block;

// The inputs of attention's backward pass besides queries, keys and values; token side or attended.
struct OutGradients {
    TokenStore d_out;  // (N, heads, D) compute
    TokenStore delta;  // (N, heads) accum
};

OutGradients make_out_gradients(const BlockContext& c, std::int64_t tokens, std::int64_t heads) {
    return {working_store(c, {"d_out"}, c.types.compute, {tokens, heads, c.shapes.D}),
            working_store(c, {"delta"}, c.types.accum, {tokens, heads})};
}

void finish_tile_backward(const BlockContext& c, const LayerWeights& w, const FinishWindows& at,
                          const MlpTile& tile, const TensorView& d_x, const TensorView& d_out,
                          const TensorView& delta) {
    const Ops& run = c.ops;
    const TensorView rstd = tile_rows(c.scratch.rstd, tile.shard);
    const TensorView out = at.out.at(tile.range);
    const TensorView d_normed = c.tiles.partial(tile.range);
    const TensorView h = tile_rows(c.scratch.h, tile.range);
    const TensorView d_h = tile_rows(c.scratch.d_h, tile.range);
    const TensorView d_up = tile_rows(c.scratch.d_up, tile.range);
    if (!tile.kept) mlp_inputs(c, w, at, tile);
    // 17, 15. h again, then its gradient and that of Wdown
    run(SwigluFwd{tile.gate, tile.up, h});
    const TensorView d_y = c.tiles.gather(run, tile.range, d_x);
    run(LinearBwdWeight{d_y, h, w.down.grad});
    run(LinearBwdInput{d_y, w.down.prepared, d_h});
    run(SwigluBwd{d_h, tile.gate, tile.up, d_h, d_up});
    // 12. normed again; 13-14. gate and up
    run(RmsNormFwd{tile.x_mid, w.mlp_norm.weight, c.tiles.place(tile.range), rstd,
                   c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile.range);
    run(LinearBwdWeight{d_h, normed, w.gate.grad});
    run(LinearBwdWeight{d_up, normed, w.up.grad});
    run(LinearBwdInput{d_h, w.gate.prepared, d_normed});
    run(LinearBwdInput{d_up, w.up.prepared, d_normed, Into::add});
    run(RmsNormBwd{c.tiles.reduce(run, tile.range), tile.x_mid, w.mlp_norm.weight, rstd, d_x,
                   w.mlp_norm.grad});
    // 11. out-projection
    const TensorView d_mid = c.tiles.gather(run, tile.range, d_x);
    run(LinearBwdWeight{d_mid, flat(out), w.o.grad});
    run(LinearBwdInput{d_mid, w.o.prepared, flat(d_out)});
    // 9. what attention's backward needs of its output
    run(AttentionDelta{d_out, out, delta});
}

void finish_backward(const BlockContext& c, const LayerWeights& w, LayerKept& kept,
                     TokenStore& d_x_store, OutGradients& gradients) {
    c.memory.settle();
    FinishWindows at(c, kept.x, kept.out, &kept, RowAccess::read);
    TokenWindow d_x = shard_window(c, d_x_store, RowAccess::update);
    TokenWindow d_out = token_window(c, gradients.d_out, RowAccess::write);
    TokenWindow delta = token_window(c, gradients.delta, RowAccess::write);
    WindowGroup windows(c.memory, at.x, at.out, at.kept_x_mid, at.kept_gate, at.kept_up, d_out,
                        delta, d_x);
    for_tiles(windows, c.layout.chunks, [&](const Tile& tile) {
        const MlpTile mlp(c, at, tile);
        finish_tile_backward(c, w, at, mlp, d_x.at(mlp.shard), d_out.at(mlp.range),
                             delta.at(mlp.range));
    });
}

// Both sides of what finish_backward leaves, the second where attention's differs.
OutGradients out_gradients(const BlockContext& c, const LayerWeights& w, LayerKept& kept,
                           TokenStore& d_x) {
    const RankShapes& s = c.shapes;
    OutGradients tokens = make_out_gradients(c, s.T, s.Hq);
    finish_backward(c, w, kept, d_x, tokens);
    for (TokenStore* used : {&kept.out, &kept.x_mid, &kept.gate, &kept.up})
        *used = {};
    if (c.heads.direct()) return tokens;
    OutGradients attended = make_out_gradients(c, s.S, s.attended_q);
    c.heads.out_grads_to_heads(c.ops, {tokens.d_out.whole(), attended.d_out.whole()},
                               {tokens.delta.whole(), attended.delta.whole()});
    return attended;
}

std::unique_ptr<KvGradStream> key_value_gradients(const BlockContext& c, QueryKeyValue& attended) {
    if (!attended.kv.empty()) {
        return std::make_unique<RingKvGrad>(c.ring, c.ops, attended.kv.whole(), c.runs.by_slot);
    }
    return std::make_unique<HostKvGrad>(c.memory, c.ops, attended, c.runs.query_chunks,
                                        c.layout.max_query_chunk);
}

// d_q (S, attended_q, D) accum.
void attend_backward(const BlockContext& c, QueryKeyValue& attended, TokenStore& lse,
                     OutGradients& gradients, KvGradStream& kv, TokenStore& d_q_store) {
    c.memory.settle();
    const AttentionSection section(c);
    const Ops& run = c.ops;
    TokenWindow q = pass_window(c, attended.q, RowAccess::read);
    TokenWindow d_out = pass_window(c, gradients.d_out, RowAccess::read);
    TokenWindow lse_rows = pass_window(c, lse, RowAccess::read);
    TokenWindow delta = pass_window(c, gradients.delta, RowAccess::read);
    TokenWindow d_q = pass_window(c, d_q_store, RowAccess::write);
    WindowGroup windows(c.memory, q, d_out, lse_rows, delta, d_q);
    for (std::size_t i = 0; i < c.runs.passes.size(); ++i) {
        windows.open();
        for (int block = 0; block < kv.num_blocks(i); ++block) {
            const KvGradBlock source = kv.next();
            if (block == 0) run(FillZero{d_q.rows()});
            for (const QueryChunk& chunk : chunks_of(c, c.runs.passes[i])) {
                const TokenRange& rows = chunk.range;
                run(AttentionBwd{q.at(rows), source.kv.k, source.kv.v, d_out.at(rows),
                                 lse_rows.at(rows), delta.at(rows), chunk.runs, source.kv.runs,
                                 attention_scale(c.model), d_q.at(rows), source.d_k, source.d_v});
            }
            kv.done();
        }
        windows.close();
    }
}

// Gradients of what was projected, by token.
struct ProjectedGradients {
    TokenStore d_q;  // (T, Hq, D) accum or compute
    KvGradStream::Gradients kv;
};

// From attention's heads to the tokens of this rank.
ProjectedGradients to_tokens(const BlockContext& c, ProjectedGradients attended) {
    if (c.heads.direct()) return attended;
    const RankShapes& s = c.shapes;
    const ArenaTensor d_q = c.memory.on_device({"d_q"}, c.types.compute, {s.S, s.attended_q, s.D});
    c.ops(Copy{attended.d_q.whole(), d_q});
    ProjectedGradients tokens;
    tokens.d_q = working_store(c, {"d_q"}, c.types.compute, {s.T, s.Hq, s.D});
    tokens.kv.both = c.memory.on_device({"d_kv"}, c.types.accum, {2 * s.T, s.Hk, s.D});
    c.heads.grads_to_tokens(c.ops, {tokens.d_q.whole(), d_q}, {tokens.kv.both, attended.kv.both});
    const KeyValueRows rows = key_value(tokens.kv.both);
    tokens.kv.d_k = TokenStore(rows.k);
    tokens.kv.d_v = TokenStore(rows.v);
    return tokens;
}

struct ProjectGradWindows {
    ProjectGradWindows(const BlockContext& c, TokenStore& x_store, ProjectedGradients& d,
                       TokenStore& d_x_store)
        : x(shard_window(c, x_store, RowAccess::read)),
          cos(token_window(c, c.rotary.cos, RowAccess::read)),
          sin(token_window(c, c.rotary.sin, RowAccess::read)),
          d_q(token_window(c, d.d_q, RowAccess::read)),
          d_k(token_window(c, d.kv.d_k, RowAccess::read)),
          d_v(token_window(c, d.kv.d_v, RowAccess::read)),
          d_x(shard_window(c, d_x_store, RowAccess::update)),
          all(c.memory, x, cos, sin, d_q, d_k, d_v, d_x) {}

    TokenWindow x, cos, sin, d_q, d_k, d_v, d_x;
    WindowGroup all;
};

void project_tile_backward(const BlockContext& c, const LayerWeights& w,
                           const ProjectGradWindows& at, const TokenRange& tile) {
    const Ops& run = c.ops;
    const TokenRange shard = c.tiles.shard(tile);
    const TensorView x = at.x.at(shard);
    const TensorView rstd = tile_rows(c.scratch.rstd, shard);
    const TensorView d_normed = c.tiles.partial(tile);
    const TensorView d_q = tile_rows(c.scratch.d_q, tile);
    const TensorView d_k = tile_rows(c.scratch.d_k, tile);
    const TensorView d_v = tile_rows(c.scratch.d_v, tile);
    const TensorView cos = at.cos.at(tile);
    const TensorView sin = at.sin.at(tile);
    // From sums to the compute type, then 5-6 backwards.
    run(Copy{at.d_q.at(tile), d_q});
    run(Copy{at.d_k.at(tile), d_k});
    run(Copy{at.d_v.at(tile), d_v});
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
    run(RmsNormBwd{c.tiles.reduce(run, tile), x, w.attention_norm.weight, rstd, at.d_x.at(shard),
                   w.attention_norm.grad});
}

void project_backward(const BlockContext& c, const LayerWeights& w, TokenStore& x,
                      ProjectedGradients& gradients, TokenStore& d_x) {
    c.memory.settle();
    ProjectGradWindows at(c, x, gradients, d_x);
    for_tiles(at.all, c.layout.chunks,
              [&](const Tile& tile) { project_tile_backward(c, w, at, tile.range); });
}

}  // namespace

void block_backward(const BlockContext& c, const LayerWeights& w, int layer, LayerKept kept,
                    TokenStore& d_x) {
    QueryKeyValue attended = std::move(kept.attended);
    if (attended.q.empty()) {
        attended = make_attended(c, layer,
                                 [&](QueryKeyValue& tokens) { project_again(c, w, kept, tokens); });
    }
    if (c.layout.memory.keep == Keep::input) {
        Attention again = attention(c, layer, attended);
        kept.out = std::move(again.out);
        kept.lse = std::move(again.lse);
    }
    std::unique_ptr<KvGradStream> kv = key_value_gradients(c, attended);
    c.listener.on_first_hop();
    OutGradients gradients = out_gradients(c, w, kept, d_x);
    ProjectedGradients projected;
    projected.d_q =
        working_store(c, {"d_q"}, c.types.accum, {c.shapes.S, c.shapes.attended_q, c.shapes.D});
    attend_backward(c, attended, kept.lse, gradients, *kv, projected.d_q);
    projected.kv = kv->finish();
    kv.reset();
    attended = {};
    gradients = {};
    ProjectedGradients tokens = to_tokens(c, std::move(projected));
    c.listener.on_attention_sent();
    project_backward(c, w, kept.x, tokens, d_x);
}

}  // namespace rm
