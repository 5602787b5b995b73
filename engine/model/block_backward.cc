#include "engine/model/block_parts.h"

// The block's backward pass; numbers are those of the forward pass (block.cc).
namespace rm {
namespace {

using namespace block;

void finish_tile_backward(const BlockContext& c, const LayerWeights& w, const Tile& tile,
                          const MlpTile& mlp, const TensorView& d_x, const TensorView& d_out,
                          const TensorView& delta) {
    const Ops& run = c.ops;
    const TensorView rstd = rows_like(mlp.x_mid, c.scratch.rstd);
    const TensorView d_normed = c.tiles.partial(tile.range);
    const TensorView h = tile_rows(c.scratch.h, tile);
    const TensorView d_h = tile_rows(c.scratch.d_h, tile);
    const TensorView d_up = tile_rows(c.scratch.d_up, tile);
    if (!mlp.kept) mlp_inputs(c, w, tile, mlp);
    // 17, 15. h again, then its gradient and that of Wdown
    run(SwigluFwd{mlp.gate, mlp.up, h});
    const TensorView d_y = c.tiles.gather(run, tile.range, d_x);
    run(LinearBwdWeight{d_y, h, w.down.grad});
    run(LinearBwdInput{d_y, w.down.prepared, d_h});
    run(SwigluBwd{d_h, mlp.gate, mlp.up, d_h, d_up});
    // 12. normed again; 13-14. gate and up
    run(RmsNormFwd{mlp.x_mid, w.mlp_norm.weight, c.tiles.place(tile.range), rstd,
                   c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile.range);
    run(LinearBwdWeight{d_h, normed, w.gate.grad});
    run(LinearBwdWeight{d_up, normed, w.up.grad});
    run(LinearBwdInput{d_h, w.gate.prepared, d_normed});
    run(LinearBwdInput{d_up, w.up.prepared, d_normed, Into::add});
    run(RmsNormBwd{c.tiles.reduce(run, tile.range), mlp.x_mid, w.mlp_norm.weight, rstd, d_x,
                   w.mlp_norm.grad});
    // 11. out-projection
    const TensorView d_mid = c.tiles.gather(run, tile.range, d_x);
    run(LinearBwdWeight{d_mid, flat(mlp.out), w.o.grad});
    run(LinearBwdInput{d_mid, w.o.prepared, flat(d_out)});
    // 9. what attention's backward needs of its output
    run(AttentionDelta{d_out, mlp.out, delta});
}

void finish_backward(const BlockContext& c, const LayerWeights& w, LayerKept& kept,
                     TokenStore& d_x_store, OutGradients& gradients) {
    Windows windows = c.windows();
    const FinishWindows at(windows, kept.x, kept.out, &kept, RowAccess::read);
    const TileWindow d_x = windows.update(d_x_store, Rows::shards);
    const TileWindow d_out = windows.write(gradients.d_out, Rows::tokens);
    const TileWindow delta = windows.write(gradients.delta, Rows::tokens);
    windows.for_each([&](const Tile& tile) {
        const MlpTile mlp(c, at, tile);
        finish_tile_backward(c, w, tile, mlp, d_x(tile), d_out(tile), delta(tile));
    });
}

struct ProjectGradWindows {
    TileWindow x, cos, sin;
    QkvWindows d;
    TileWindow d_x;
};

void project_tile_backward(const BlockContext& c, const LayerWeights& w,
                           const ProjectGradWindows& at, const Tile& tile) {
    const Ops& run = c.ops;
    const TensorView x = at.x(tile);
    const TensorView rstd = rows_like(x, c.scratch.rstd);
    const TensorView d_normed = c.tiles.partial(tile.range);
    const QkvTile d{tile_rows(c.scratch.d_q, tile), tile_rows(c.scratch.d_k, tile),
                    tile_rows(c.scratch.d_v, tile)};
    // From sums to the compute type, then 5-6 backwards.
    copy(run, at.d(tile), d);
    run(RopeApply{d.q, at.cos(tile), at.sin(tile), Rotation::backward});
    run(RopeApply{d.k, at.cos(tile), at.sin(tile), Rotation::backward});
    // 1. normed again; 2-4. queries, keys, values
    run(RmsNormFwd{x, w.attention_norm.weight, c.tiles.place(tile.range), rstd, c.model.norm_eps});
    const TensorView normed = c.tiles.gather(run, tile.range);
    run(LinearBwdWeight{flat(d.q), normed, w.q.grad});
    run(LinearBwdWeight{flat(d.k), normed, w.k.grad});
    run(LinearBwdWeight{flat(d.v), normed, w.v.grad});
    run(LinearBwdInput{flat(d.q), w.q.prepared, d_normed});
    run(LinearBwdInput{flat(d.k), w.k.prepared, d_normed, Into::add});
    run(LinearBwdInput{flat(d.v), w.v.prepared, d_normed, Into::add});
    run(RmsNormBwd{c.tiles.reduce(run, tile.range), x, w.attention_norm.weight, rstd, at.d_x(tile),
                   w.attention_norm.grad});
}

void project_backward(const BlockContext& c, const LayerWeights& w, TokenStore& x,
                      ProjectedGradients& d, TokenStore& d_x) {
    Windows windows = c.windows();
    const ProjectGradWindows at{windows.read(x, Rows::shards),
                                windows.read(c.rotary.cos, Rows::tokens),
                                windows.read(c.rotary.sin, Rows::tokens),
                                {windows, d.d_q, d.kv.d_k, d.kv.d_v, Rows::tokens, RowAccess::read},
                                windows.update(d_x, Rows::shards)};
    windows.for_each([&](const Tile& tile) { project_tile_backward(c, w, at, tile); });
}

}  // namespace

void block_backward(const BlockContext& c, const LayerWeights& w, int layer, LayerKept kept,
                    TokenStore& d_x) {
    QueryKeyValue attended = std::move(kept.attended);
    if (attended.q.empty()) {
        attended = c.attention.inputs(layer, [&](QueryKeyValue& tokens) {
            project(c, w, kept.x, tokens, &kept.tiles, RowAccess::read);
        });
    }
    if (c.layout.memory.keep == Keep::input) {
        Attention::Output again = c.attention.forward(c.runs, layer, attended, LayerPass::backward);
        kept.out = std::move(again.out);
        kept.lse = std::move(again.lse);
    }
    AttentionBackward attention(c.attention, c.runs, std::move(attended), kept.lse);
    c.listener.on_first_hop();
    OutGradients gradients = attention.out_gradients();
    finish_backward(c, w, kept, d_x, gradients);
    for (TokenStore* used : {&kept.out, &kept.x_mid, &kept.gate, &kept.up})
        *used = {};
    ProjectedGradients projected = attention.finish(std::move(gradients));
    c.listener.on_attention_sent();
    project_backward(c, w, kept.x, projected, d_x);
}

}  // namespace rm
