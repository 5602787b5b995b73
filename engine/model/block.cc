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
    InputWindows x;
    TileWindow cos, sin;
    QkvWindows qkv;                      // of what attention takes, or empty:
    std::optional<TilesToHeads> sender;  // a tile's rows go to the ranks that attend
    QkvWindows kept;
    TileWindow rounded;  // of the input, or empty: what is kept of it
};

QkvTile made_qkv(const BlockContext& c, const ProjectWindows& at, const Tile& tile) {
    if (!at.sender) return at.qkv(tile);
    const TileScratch& scratch = c.scratch(tile);
    return {tile_rows(scratch.q, tile), tile_rows(scratch.k, tile), tile_rows(scratch.v, tile)};
}

TileTask project_tile(const BlockContext& c, const LayerWeights& w, ProjectWindows& at, Tile tile,
                      RowAccess kept_access) {
    const Ops& run = c.ops;
    const bool keeps = tile.kept() && !at.kept.q.empty();
    const QkvTile made = made_qkv(c, at, tile);
    if (keeps && kept_access == RowAccess::read) {
        co_await c.tiles.pause();
        copy(run, at.kept(tile), made);
    } else {
        const TensorView x = at.x.fetch(run, tile, c.scratch(tile).x);
        if (!at.rounded.empty()) round_rows(run, x, at.rounded(tile));
        // 1. normalise
        run(RmsNormFwd{x, w.attention_norm.weight, c.tiles.place(tile),
                       rows_like(x, c.scratch(tile).rstd), c.model.norm_eps});
        const TensorView normed = co_await c.tiles.gather_in_layer(run, tile);
        // 2-4. queries, keys, values
        const LinearOperand taken =
            forward_operand(run, normed, w, Fp8Site::attention_input, c.scratch(tile).taken);
        linear(run, taken, w.q.prepared, flat(made.q));
        linear(run, taken, w.k.prepared, flat(made.k));
        linear(run, taken, w.v.prepared, flat(made.v));
        // 5-6. rotate
        run(RopeApply{made.q, at.cos(tile), at.sin(tile), Rotation::forward});
        run(RopeApply{made.k, at.cos(tile), at.sin(tile), Rotation::forward});
        if (keeps) copy(run, made, at.kept(tile));
    }
    if (at.sender) at.sender->send(run, tile, {made.q, made.k, made.v});
}

}  // namespace

void project(const BlockContext& c, const LayerWeights& w, LayerInput& input,
             QueryKeyValue& attended, QueryKeyValue* kept, RowAccess kept_access) {
    Windows windows = c.windows();
    ProjectWindows at{{windows, input},
                      windows.read(c.rotary.cos, Rows::tokens),
                      windows.read(c.rotary.sin, Rows::tokens),
                      {},
                      {},
                      {},
                      {}};
    HeadExchange& heads = c.attention.heads();
    if (c.exchanges_heads()) {
        at.sender.emplace(heads,
                          std::initializer_list<AttendedRows>{{&attended.q, heads.queries()},
                                                              {&attended.kv.k, heads.keys()},
                                                              {&attended.kv.v, heads.keys()}});
    } else {
        at.qkv = QkvWindows(windows, attended.q, attended.kv, Rows::tokens, RowAccess::write);
    }
    if (kept != nullptr) at.kept = QkvWindows(windows, kept->q, kept->kv, Rows::kept, kept_access);
    if (!input.x.empty()) at.rounded = windows.on(&input.rounded, Rows::shards, RowAccess::write);
    windows.for_each([&](const Tile& tile) { return project_tile(c, w, at, tile, kept_access); });
    if (at.sender) at.sender->finish(c.ops);
}

// ---- Finish: out-projection and MLP of every tile.

TileTask fetch_out(const BlockContext& c, FinishWindows& at, Tile tile, const MlpTile& mlp) {
    if (!at.arriving) co_return;
    co_await at.arriving->receive(c.ops, tile);
    at.arriving->take(c.ops, tile, 0, mlp.out, Into::overwrite);
    at.arriving->done(tile);
}

TileTask mlp_inputs(const BlockContext& c, const LayerWeights& w, Tile tile, const MlpTile& mlp) {
    const Ops& run = c.ops;
    // 10-11. x_mid = x + out Wo^T
    const Fp8Scratch& scratch = c.scratch(tile).taken;
    run(Copy{mlp.x, mlp.x_mid});
    const LinearOperand out =
        forward_operand(run, flat(mlp.out), w, Fp8Site::attention_output, scratch);
    co_await c.tiles.add_linear(run, tile, out, w.o.prepared, mlp.x_mid);
    // 12. normalise
    run(RmsNormFwd{mlp.x_mid, w.mlp_norm.weight, c.tiles.place(tile),
                   rows_like(mlp.x_mid, c.scratch(tile).rstd), c.model.norm_eps});
    const TensorView normed = co_await c.tiles.gather_in_layer(run, tile);
    // 13-14. gate, up
    const LinearOperand taken = forward_operand(run, normed, w, Fp8Site::mlp_input, scratch);
    linear(run, taken, w.gate.prepared, mlp.gate);
    linear(run, taken, w.up.prepared, mlp.up);
}

namespace {

TileTask finish_tile(const BlockContext& c, const LayerWeights& w, FinishWindows& at, Tile tile,
                     TensorView y, const TileWindow& kept_out) {
    const Ops& run = c.ops;
    const MlpTile mlp(c, at, tile);
    const TensorView h = tile_rows(c.scratch(tile).h, tile);
    co_await fetch_out(c, at, tile, mlp);
    co_await mlp_inputs(c, w, tile, mlp);
    // 15. silu(gate) * up
    run(SwigluFwd{mlp.gate, mlp.up, h});
    // 16-17. x_next = x_mid + h Wdown^T
    run(Copy{mlp.x_mid, y});
    const LinearOperand taken =
        forward_operand(run, h, w, Fp8Site::mlp_hidden, c.scratch(tile).taken);
    co_await c.tiles.add_linear(run, tile, taken, w.down.prepared, y);
    if (!kept_out.empty()) run(Copy{mlp.out, kept_out(tile)});
}

// `out`: null, or attention's output by token, to be filled in from `attended` if that is not null.
void finish(const BlockContext& c, const LayerWeights& w, LayerInput& input, TokenStore* out,
            TokenStore* attended, TokenStore& x_next, LayerKept* kept) {
    Windows windows = c.windows();
    FinishWindows at(c, windows, input, out, attended, kept, RowAccess::write);
    const TileWindow y = windows.write(x_next, Rows::shards);
    const TileWindow kept_out =
        windows.on(kept == nullptr ? nullptr : &kept->out, Rows::tokens, RowAccess::write);
    windows.for_each(
        [&](const Tile& tile) { return finish_tile(c, w, at, tile, y(tile), kept_out); });
}

// Whether the output by token becomes what the backward pass keeps.
bool keeps_out(const BlockContext& c, const LayerKept* kept) {
    const MemoryPolicy& policy = c.layout.memory;
    return kept != nullptr && policy.keep != Keep::input && !copies_out(policy);
}

TokenStore make_out(const BlockContext& c, int layer) {
    const RankShapes shapes(c.model, c.layout);
    return working_store(c.memory, {"out by token", layer}, c.memory.types().compute,
                         {shapes.T, shapes.Hq, shapes.D});
}

}  // namespace
}  // namespace block

void block_forward(const BlockContext& c, const LayerWeights& w, int layer, LayerInput& input,
                   TokenStore& x_next, LayerKept* kept) {
    const MemoryPolicy& policy = c.layout.memory;
    QueryKeyValue attended = c.attention.make_inputs(layer);
    block::project(c, w, input, attended, kept == nullptr ? nullptr : &kept->tiles,
                   RowAccess::write);
    Attention::Output done = c.attention.forward(c.runs, layer, attended, c.pass);
    c.listener.on_attention_sent();
    if (kept != nullptr && keeps_attended(policy)) kept->attended = std::move(attended);
    attended = {};
    TokenStore out;
    if (c.exchanges_heads()) {
        if (block::keeps_out(c, kept)) out = block::make_out(c, layer);
        block::finish(c, w, input, &out, &done.out, x_next, kept);
        done.out = {};
    } else {
        out = std::move(done.out);
        block::finish(c, w, input, &out, nullptr, x_next, kept);
    }
    if (kept == nullptr || policy.keep == Keep::input) return;
    kept->lse = std::move(done.lse);
    if (!copies_out(policy)) kept->out = std::move(out);
}

}  // namespace rm
