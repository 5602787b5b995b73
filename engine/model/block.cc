#include "engine/model/block.h"

#include "engine/model/block_parts.h"

// The page to read first. Every GEMM over tokens is one tile; a chunk is only what moves together.
// Names: x residual stream, normed its RMSNorm, d_ gradients. Windows give a tile's rows of stores
// that may lie on the host. Steps 7-9 are attention.cc, the backward pass is block_backward.cc.
namespace rm {
namespace block {

// ---- Project: queries, keys and values of every tile.

namespace {

struct ProjectWindows {
    TileWindow x, cos, sin;
    QkvWindows qkv;
};

void project_tile(const BlockContext& c, const LayerWeights& w, const ProjectWindows& at,
                  const Tile& tile) {
    const Ops& run = c.ops;
    const TensorView x = at.x(tile);
    const auto [q, k, v] = at.qkv(tile);
    // 1. normalise
    run(RmsNormFwd{x, w.attention_norm.weight, c.tiles.place(tile.range),
                   rows_like(x, c.scratch.rstd), c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile.range);
    // 2-4. queries, keys, values
    run(LinearFwd{normed, w.q.prepared, flat(q)});
    run(LinearFwd{normed, w.k.prepared, flat(k)});
    run(LinearFwd{normed, w.v.prepared, flat(v)});
    // 5-6. rotate
    run(RopeApply{q, at.cos(tile), at.sin(tile), Rotation::forward});
    run(RopeApply{k, at.cos(tile), at.sin(tile), Rotation::forward});
}

}  // namespace

void project(const BlockContext& c, const LayerWeights& w, TokenStore& x, QueryKeyValue& tokens,
             QueryKeyValue* kept, RowAccess kept_access) {
    Windows windows = c.windows();
    const ProjectWindows at{
        windows.read(x, Rows::shards),
        windows.read(c.rotary.cos, Rows::tokens),
        windows.read(c.rotary.sin, Rows::tokens),
        {windows, tokens.q, tokens.k, tokens.v, Rows::tokens, RowAccess::write}};
    QueryKeyValue none;
    QueryKeyValue& stores = kept == nullptr ? none : *kept;
    const QkvWindows at_kept(windows, stores.q, stores.k, stores.v, Rows::kept, kept_access);
    windows.for_each([&](const Tile& tile) {
        const bool keeps = tile.kept() && !at_kept.q.empty();
        if (keeps && kept_access == RowAccess::read)
            return copy(c.ops, at_kept(tile), at.qkv(tile));
        project_tile(c, w, at, tile);
        if (keeps) copy(c.ops, at.qkv(tile), at_kept(tile));
    });
}

// ---- Finish: out-projection and MLP of every tile.

void mlp_inputs(const BlockContext& c, const LayerWeights& w, const Tile& tile,
                const MlpTile& mlp) {
    const Ops& run = c.ops;
    // 10-11. x_mid = x + out Wo^T
    run(Copy{mlp.x, mlp.x_mid});
    c.tiles.add_linear(run, tile.range, flat(mlp.out), w.o.prepared, mlp.x_mid);
    // 12. normalise
    run(RmsNormFwd{mlp.x_mid, w.mlp_norm.weight, c.tiles.place(tile.range),
                   rows_like(mlp.x_mid, c.scratch.rstd), c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile.range);
    // 13-14. gate, up
    run(LinearFwd{normed, w.gate.prepared, mlp.gate});
    run(LinearFwd{normed, w.up.prepared, mlp.up});
}

namespace {

void finish_tile(const BlockContext& c, const LayerWeights& w, const Tile& tile, const MlpTile& mlp,
                 const TensorView& y) {
    const Ops& run = c.ops;
    const TensorView h = tile_rows(c.scratch.h, tile);
    mlp_inputs(c, w, tile, mlp);
    // 15. silu(gate) * up
    run(SwigluFwd{mlp.gate, mlp.up, h});
    // 16-17. x_next = x_mid + h Wdown^T
    run(Copy{mlp.x_mid, y});
    c.tiles.add_linear(run, tile.range, h, w.down.prepared, y);
}

void finish(const BlockContext& c, const LayerWeights& w, TokenStore& x, TokenStore& out,
            TokenStore& x_next, LayerKept* kept) {
    Windows windows = c.windows();
    const FinishWindows at(windows, x, out, kept, RowAccess::write);
    const TileWindow y = windows.write(x_next, Rows::shards);
    const TileWindow kept_out =
        windows.on(kept == nullptr ? nullptr : &kept->out, Rows::tokens, RowAccess::write);
    windows.for_each([&](const Tile& tile) {
        const MlpTile mlp(c, at, tile);
        finish_tile(c, w, tile, mlp, y(tile));
        if (!kept_out.empty()) c.ops(Copy{mlp.out, kept_out(tile)});
    });
}

}  // namespace
}  // namespace block

void block_forward(const BlockContext& c, const LayerWeights& w, int layer, TokenStore& x,
                   TokenStore& x_next, LayerKept* kept) {
    const MemoryPolicy& policy = c.layout.memory;
    QueryKeyValue attended = c.attention.inputs(layer, [&](QueryKeyValue& tokens) {
        block::project(c, w, x, tokens, kept == nullptr ? nullptr : &kept->tiles, RowAccess::write);
    });
    Attention::Output done = c.attention.forward(c.runs, layer, attended, LayerPass::forward);
    c.listener.on_attention_sent();
    if (kept != nullptr && keeps_attended(policy)) kept->attended = std::move(attended);
    attended = {};
    block::finish(c, w, x, done.out, x_next, kept);
    if (kept == nullptr || policy.keep == Keep::input) return;
    kept->lse = std::move(done.lse);
    if (!copies_out(policy)) kept->out = std::move(done.out);
}

}  // namespace rm
