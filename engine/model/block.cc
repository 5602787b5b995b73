#include "engine/model/block.h"

#include <memory>

#include "engine/model/block_parts.h"
#include "engine/model/host_kv.h"

// The page to read first. Every GEMM over tokens is one tile; a chunk is only what moves together.
// Names: x residual stream, normed its RMSNorm, d_ gradients. The code opens and closes windows
// on tokens that may lie on the host. Views of the current tile end in no suffix. The backward pass
// is block_backward.cc.
namespace rm {
namespace block {
namespace {

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

}  // namespace

// ---- Project: queries, keys and values of every tile.

void project(const BlockContext& c, const LayerWeights& w, TokenStore& x, QueryKeyValue& tokens,
             QueryKeyValue* kept) {
    c.memory.settle();
    ProjectWindows at(c, x, tokens, kept, RowAccess::write);
    for_tiles(at.all, c.layout.chunks, [&](const Tile& tile) {
        project_tile(c, w, at, tile.range);
        if (tile.kept() && !at.kept_q.empty()) keep_projected(c, at, tile);
    });
}

void project_again(const BlockContext& c, const LayerWeights& w, LayerKept& kept,
                   QueryKeyValue& tokens) {
    c.memory.settle();
    ProjectWindows at(c, kept.x, tokens, &kept.tiles, RowAccess::read);
    for_tiles(at.all, c.layout.chunks, [&](const Tile& tile) {
        if (tile.kept() && !at.kept_q.empty()) {
            bring_projected(c, at, tile);
        } else {
            project_tile(c, w, at, tile.range);
        }
    });
}

// ---- Attend: every query sees the keys before it.

namespace {

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

}  // namespace

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

namespace {

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
    for_tiles(windows, c.layout.chunks, [&](const Tile& tile) {
        const MlpTile mlp(c, at, tile);
        finish_tile(c, w, at, mlp, y.at(mlp.shard));
        if (!kept_out.empty()) c.ops(Copy{at.out.at(tile.range), kept_out.at(tile.range)});
    });
}

}  // namespace
}  // namespace block

void block_forward(const BlockContext& c, const LayerWeights& w, int layer, TokenStore& x,
                   TokenStore& x_next, LayerKept* kept) {
    const MemoryPolicy& policy = c.layout.memory;
    if (kept != nullptr) make_kept(c, layer, *kept);
    QueryKeyValue attended = block::make_attended(c, layer, [&](QueryKeyValue& tokens) {
        block::project(c, w, x, tokens, kept == nullptr ? nullptr : &kept->tiles);
    });
    block::Attention done = block::attention(c, layer, attended);
    c.listener.on_attention_sent();
    const bool keeps = kept != nullptr && keeps_attended(policy);
    if (keeps) kept->attended = std::move(attended);
    attended = {};
    block::finish(c, w, x, done.out, x_next, kept);
    if (kept == nullptr || policy.keep == Keep::input) return;
    kept->lse = std::move(done.lse);
    if (!copies_out(policy)) kept->out = std::move(done.out);
}

}  // namespace rm
