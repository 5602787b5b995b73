#include "engine/model/block.h"

#include <cmath>
#include <memory>
#include <optional>

#include "engine/model/layer_stores.h"

// The page to read first. Every GEMM over tokens is one tile; a chunk is only what moves together.
// Names: x residual stream, normed its RMSNorm, d_ gradients. What is opened and closed is a window
// on tokens that may lie on the host. Views of the current tile end in no suffix.
namespace rm {
namespace {

double attention_scale(const ModelConfig& model) {
    return 1 / std::sqrt(static_cast<double>(model.head_dim));
}

// A (rows, heads, head dim) tensor as a matrix, for GEMMs.
TensorView flat(const TensorView& tensor) {
    return tensor.reshaped({tensor.dim(0), tensor.dim(1) * tensor.dim(2)});
}

TensorView tile_rows(const Tensor& scratch, const TokenRange& rows) {
    return scratch->rows(0, rows.count);
}

// ---- Project: queries, keys and values of every tile.

struct ProjectWindows {
    // `kept`: null, or where rows of kept tiles are written or read.
    ProjectWindows(const BlockContext& c, TokenStore& x_store, QueryKeyValue& tokens,
                   QueryKeyValue* kept, RowAccess kept_access)
        : x(shard_window(c, x_store, RowAccess::read)),
          cos(token_window(c, c.rotary.cos, RowAccess::read)),
          sin(token_window(c, c.rotary.sin, RowAccess::read)),
          q(token_window(c, tokens.q, RowAccess::write)),
          k(token_window(c, tokens.k, RowAccess::write)),
          v(token_window(c, tokens.v, RowAccess::write)),
          kept_q(kept == nullptr ? TokenWindow() : kept_window(c, kept->q, kept_access)),
          kept_k(kept == nullptr ? TokenWindow() : kept_window(c, kept->k, kept_access)),
          kept_v(kept == nullptr ? TokenWindow() : kept_window(c, kept->v, kept_access)),
          all(c.memory, x, cos, sin, kept_q, kept_k, kept_v, q, k, v) {}

    TokenWindow x, cos, sin, q, k, v, kept_q, kept_k, kept_v;
    WindowGroup all;
};

void project_tile(const BlockContext& c, const LayerWeights& w, const ProjectWindows& at,
                  const TokenRange& tile) {
    const Ops& run = c.ops;
    const TokenRange shard = c.tiles.shard(tile);
    const TensorView q = at.q.at(tile);
    const TensorView k = at.k.at(tile);
    const TensorView v = at.v.at(tile);
    const TensorView cos = at.cos.at(tile);
    const TensorView sin = at.sin.at(tile);
    // 1. normalise
    run(RmsNormFwd{at.x.at(shard), w.attention_norm.weight, c.tiles.place(tile),
                   tile_rows(c.scratch.rstd, shard), c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile);
    // 2-4. queries, keys, values
    run(LinearFwd{normed, w.q.prepared, flat(q)});
    run(LinearFwd{normed, w.k.prepared, flat(k)});
    run(LinearFwd{normed, w.v.prepared, flat(v)});
    // 5-6. rotate
    run(RopeApply{q, cos, sin, Rotation::forward});
    run(RopeApply{k, cos, sin, Rotation::forward});
}

void keep_projected(const BlockContext& c, const ProjectWindows& at, const Tile& tile) {
    c.ops(Copy{at.q.at(tile.range), at.kept_q.at(tile.kept_rows())});
    c.ops(Copy{at.k.at(tile.range), at.kept_k.at(tile.kept_rows())});
    c.ops(Copy{at.v.at(tile.range), at.kept_v.at(tile.kept_rows())});
}

void bring_projected(const BlockContext& c, const ProjectWindows& at, const Tile& tile) {
    c.ops(Copy{at.kept_q.at(tile.kept_rows()), at.q.at(tile.range)});
    c.ops(Copy{at.kept_k.at(tile.kept_rows()), at.k.at(tile.range)});
    c.ops(Copy{at.kept_v.at(tile.kept_rows()), at.v.at(tile.range)});
}

void project(const BlockContext& c, const LayerWeights& w, TokenStore& x, QueryKeyValue& tokens,
             QueryKeyValue* kept) {
    c.memory.settle();
    ProjectWindows at(c, x, tokens, kept, RowAccess::write);
    for (const Chunk& chunk : c.layout.chunks) {
        at.all.open();
        for (const Tile& tile : chunk) {
            project_tile(c, w, at, tile.range);
            if (tile.kept() && !at.kept_q.empty()) keep_projected(c, at, tile);
        }
        at.all.close();
    }
}

// The same for the backward pass: what was kept is brought, the rest is computed again.
void project_again(const BlockContext& c, const LayerWeights& w, LayerKept& kept,
                   QueryKeyValue& tokens) {
    c.memory.settle();
    ProjectWindows at(c, kept.x, tokens, &kept.tiles, RowAccess::read);
    for (const Chunk& chunk : c.layout.chunks) {
        at.all.open();
        for (const Tile& tile : chunk) {
            if (tile.kept() && !at.kept_q.empty()) {
                bring_projected(c, at, tile);
            } else {
                project_tile(c, w, at, tile.range);
            }
        }
        at.all.close();
    }
}

// What attention works on, from a function that projects the tokens.
template <typename Project>
QueryKeyValue make_attended(const BlockContext& c, int layer, Project project_tokens) {
    QueryKeyValue attended = attended_store(c, layer);
    if (c.heads.direct()) {
        project_tokens(attended);
        return attended;
    }
    const RankShapes& s = c.shapes;
    QueryKeyValue tokens = working_query_key_value(c, layer, s.T, s.Hq, s.Hk);
    project_tokens(tokens);
    c.heads.project_to_heads(c.ops, {tokens.q.whole(), attended.q.whole()},
                             {tokens.kv.whole(), attended.kv.whole()});
    return attended;
}

// ---- Attend: every query sees the keys before it.

std::unique_ptr<KvStream> key_values(const BlockContext& c, QueryKeyValue& attended) {
    if (!attended.kv.empty()) {
        return std::make_unique<RingKv>(c.ring, c.ops, attended.kv.whole(), c.runs.by_slot);
    }
    return std::make_unique<HostKv>(c.memory, attended, c.runs.query_chunks,
                                    c.layout.max_query_chunk);
}

struct StateBuffers {
    StateBuffers(const BlockContext& c, std::int64_t tokens)
        : acc(c.memory.on_device({"acc"}, c.types.accum,
                                 {tokens, c.shapes.attended_q, c.shapes.D})),
          m(c.memory.on_device({"m"}, c.types.accum, {tokens, c.shapes.attended_q})),
          l(c.memory.on_device({"l"}, c.types.accum, {tokens, c.shapes.attended_q})) {}
    AttentionState first(std::int64_t tokens) const { return rows({0, tokens}); }
    AttentionState rows(const TokenRange& range) const {
        return {at(acc, range), at(m, range), at(l, range)};
    }
    ArenaTensor acc;  // (tokens, attended_q, D) accum
    ArenaTensor m;    // (tokens, attended_q) accum
    ArenaTensor l;    // (tokens, attended_q) accum
};

std::span<const QueryChunk> chunks_of(const BlockContext& c, const AttentionPass& pass) {
    return std::span(c.runs.query_chunks).subspan(pass.first_chunk, pass.num_chunks);
}

// Times what it is around of as attention.
class AttentionSection {
public:
    explicit AttentionSection(const BlockContext& c) : c_(c) {
        c.attention_timer.begin(c.ops.stream());
        c.memory.enter_attention();
    }
    AttentionSection(const AttentionSection&) = delete;
    AttentionSection& operator=(const AttentionSection&) = delete;
    ~AttentionSection() {
        c_.memory.leave_attention();
        c_.attention_timer.end(c_.ops.stream());
    }

private:
    const BlockContext& c_;
};

// out (S, attended_q, D) and lse (S, attended_q).
void attend(const BlockContext& c, QueryKeyValue& attended, TokenStore& out, TokenStore& lse) {
    c.memory.settle();
    const AttentionSection section(c);
    const Ops& run = c.ops;
    const bool whole = c.layout.memory.working == WorkingSet::whole;
    const StateBuffers state(c, whole ? c.shapes.S : c.layout.max_query_chunk);
    const std::unique_ptr<KvStream> kv = key_values(c, attended);
    TokenWindow q = pass_window(c, attended.q, RowAccess::read);
    TokenWindow out_rows = pass_window(c, out, RowAccess::write);
    TokenWindow lse_rows = pass_window(c, lse, RowAccess::write);
    WindowGroup reads(c.memory, q);
    WindowGroup writes(c.memory, out_rows, lse_rows);
    for (std::size_t i = 0; i < c.runs.passes.size(); ++i) {
        const AttentionPass& pass = c.runs.passes[i];
        // 7. the state has seen no key
        run(AttentionBegin{state.first(pass.rows.count)});
        reads.open();
        // 8. every block of keys and values, each over all query chunks
        for (int block = 0; block < kv->num_blocks(i); ++block) {
            const KvBlock source = kv->next();
            for (const QueryChunk& chunk : chunks_of(c, pass)) {
                const TokenRange rows{chunk.range.first - pass.rows.first, chunk.range.count};
                run(AttentionFwd{state.rows(rows), q.at(chunk.range), source.k, source.v,
                                 chunk.runs, source.runs, attention_scale(c.model)});
            }
            kv->done();
        }
        reads.close();
        // 9. normalise by the row sums
        writes.open();
        run(AttentionFinish{state.first(pass.rows.count), out_rows.rows(), lse_rows.rows()});
        writes.close();
    }
}

struct Attention {
    TokenStore out;  // (T, Hq, D) compute
    TokenStore lse;  // (S, attended_q) accum
};

Attention attention(const BlockContext& c, int layer, QueryKeyValue& attended) {
    const RankShapes& s = c.shapes;
    const DType compute = c.types.compute;
    Attention made;
    made.lse = working_store(c, {"lse", layer}, c.types.accum, {s.S, s.attended_q});
    made.out = working_store(c, {"out", layer}, compute, {s.T, s.Hq, s.D});
    if (c.heads.direct()) {
        attend(c, attended, made.out, made.lse);
        return made;
    }
    TokenStore out = working_store(c, {"attended out"}, compute, {s.S, s.attended_q, s.D});
    attend(c, attended, out, made.lse);
    c.heads.out_to_tokens(c.ops, {made.out.whole(), out.whole()});
    return made;
}

// ---- Finish: out-projection and MLP of every tile.

struct FinishWindows {
    FinishWindows(const BlockContext& c, TokenStore& x_store, TokenStore& out_store,
                  LayerKept* kept, RowAccess kept_access)
        : x(shard_window(c, x_store, RowAccess::read)),
          out(token_window(c, out_store, RowAccess::read)),
          kept_x_mid(kept == nullptr ? TokenWindow()
                                     : kept_shard_window(c, kept->x_mid, kept_access)),
          kept_gate(kept == nullptr ? TokenWindow() : kept_window(c, kept->gate, kept_access)),
          kept_up(kept == nullptr ? TokenWindow() : kept_window(c, kept->up, kept_access)) {}

    TokenWindow x, out, kept_x_mid, kept_gate, kept_up;
};

// Activations between attention and the end of the MLP, where they are kept or in scratch.
struct MlpTile {
    MlpTile(const BlockContext& c, const FinishWindows& at, const Tile& tile)
        : range(tile.range), shard(c.tiles.shard(tile.range)) {
        x_mid = tile_rows(c.scratch.x_mid, shard);
        gate = tile_rows(c.scratch.gate, range);
        up = tile_rows(c.scratch.up, range);
        if (!tile.kept() || at.kept_gate.empty()) return;
        kept = true;
        x_mid = at.kept_x_mid.at(c.tiles.shard(tile.kept_rows()));
        gate = at.kept_gate.at(tile.kept_rows());
        up = at.kept_up.at(tile.kept_rows());
    }
    TokenRange range;
    TokenRange shard;
    bool kept = false;
    TensorView x_mid;  // (tile / tensor, C) compute: after attention
    TensorView gate;   // (tile, F) compute
    TensorView up;     // (tile, F) compute
};

void mlp_inputs(const BlockContext& c, const LayerWeights& w, const FinishWindows& at,
                const MlpTile& tile) {
    const Ops& run = c.ops;
    // 10-11. x_mid = x + out Wo^T
    run(Copy{at.x.at(tile.shard), tile.x_mid});
    c.tiles.add_linear(run, tile.range, flat(at.out.at(tile.range)), w.o.prepared, tile.x_mid);
    // 12. normalise
    run(RmsNormFwd{tile.x_mid, w.mlp_norm.weight, c.tiles.place(tile.range),
                   tile_rows(c.scratch.rstd, tile.shard), c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile.range);
    // 13-14. gate, up
    run(LinearFwd{normed, w.gate.prepared, tile.gate});
    run(LinearFwd{normed, w.up.prepared, tile.up});
}

void finish_tile(const BlockContext& c, const LayerWeights& w, const FinishWindows& at,
                 const MlpTile& tile, const TensorView& y) {
    const Ops& run = c.ops;
    const TensorView h = tile_rows(c.scratch.h, tile.range);
    mlp_inputs(c, w, at, tile);
    // 15. silu(gate) * up
    run(SwigluFwd{tile.gate, tile.up, h});
    // 16-17. x_next = x_mid + h Wdown^T
    run(Copy{tile.x_mid, y});
    c.tiles.add_linear(run, tile.range, h, w.down.prepared, y);
}

void finish(const BlockContext& c, const LayerWeights& w, TokenStore& x, TokenStore& out,
            TokenStore& x_next, LayerKept* kept) {
    c.memory.settle();
    FinishWindows at(c, x, out, kept, RowAccess::write);
    TokenWindow y = shard_window(c, x_next, RowAccess::write);
    TokenWindow kept_out =
        kept == nullptr ? TokenWindow() : token_window(c, kept->out, RowAccess::write);
    WindowGroup windows(c.memory, at.x, at.out, at.kept_x_mid, at.kept_gate, at.kept_up, y,
                        kept_out);
    for (const Chunk& chunk : c.layout.chunks) {
        windows.open();
        for (const Tile& tile : chunk) {
            const MlpTile mlp(c, at, tile);
            finish_tile(c, w, at, mlp, y.at(mlp.shard));
            if (!kept_out.empty()) c.ops(Copy{at.out.at(tile.range), kept_out.at(tile.range)});
        }
        windows.close();
    }
}

// ---- Backward.

// What attention's backward pass works on besides queries, keys and values; token side or attended.
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
    for (const Chunk& chunk : c.layout.chunks) {
        windows.open();
        for (const Tile& tile : chunk) {
            const MlpTile mlp(c, at, tile);
            finish_tile_backward(c, w, at, mlp, d_x.at(mlp.shard), d_out.at(mlp.range),
                                 delta.at(mlp.range));
        }
        windows.close();
    }
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
    for (const Chunk& chunk : c.layout.chunks) {
        at.all.open();
        for (const Tile& tile : chunk)
            project_tile_backward(c, w, at, tile.range);
        at.all.close();
    }
}

}  // namespace

void block_forward(const BlockContext& c, const LayerWeights& w, int layer, TokenStore& x,
                   TokenStore& x_next, LayerKept* kept) {
    const MemoryPolicy& policy = c.layout.memory;
    if (kept != nullptr) make_kept(c, layer, *kept);
    QueryKeyValue attended = make_attended(c, layer, [&](QueryKeyValue& tokens) {
        project(c, w, x, tokens, kept == nullptr ? nullptr : &kept->tiles);
    });
    Attention done = attention(c, layer, attended);
    c.listener.on_attention_sent();
    const bool keeps = kept != nullptr && keeps_attended(policy);
    if (keeps) kept->attended = std::move(attended);
    attended = {};
    finish(c, w, x, done.out, x_next, kept);
    if (kept == nullptr || policy.keep == Keep::input) return;
    kept->lse = std::move(done.lse);
    if (!copies_out(policy)) kept->out = std::move(done.out);
}

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
