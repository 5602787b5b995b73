#include "engine/model/block_parts.h"

// The block's backward pass; numbers are those of the forward pass (block.cc).
namespace rm {
namespace {

using namespace block;

// Windows on what attention's backward pass takes, or a sender of a tile's rows.
struct OutGradWindows {
    TileWindow d_x, d_out, delta;
    std::optional<TilesToHeads> sender;
};

TileTask finish_tile_backward(const BlockContext& c, const LayerWeights& w, FinishWindows& at,
                              OutGradWindows& to, Tile tile) {
    const Ops& run = c.ops;
    const TileScratch& scratch = c.scratch(tile);
    const MlpTile mlp(c, at, tile);
    const TensorView d_x = to.d_x(tile);
    const TensorView d_out = to.sender ? tile_rows(scratch.d_out, tile) : to.d_out(tile);
    const TensorView delta = to.sender ? tile_rows(scratch.delta, tile) : to.delta(tile);
    const TensorView rstd = rows_like(mlp.x_mid, scratch.rstd);
    const TensorView d_normed = c.tiles.partial(tile);
    const TensorView h = tile_rows(scratch.h, tile);
    const TensorView d_h = tile_rows(scratch.d_h, tile);
    const TensorView d_up = tile_rows(scratch.d_up, tile);
    co_await fetch_out(c, at, tile, mlp);
    if (mlp.kept) {
        co_await c.tiles.pause();
        co_await c.tiles.pause();
    } else {
        co_await mlp_inputs(c, w, tile, mlp);
    }
    // 17, 15. h again, then its gradient and that of Wdown
    run(SwigluFwd{mlp.gate, mlp.up, h});
    const TensorView d_y = co_await c.tiles.gather_in_layer(run, tile, d_x);
    const LinearOperand h_taken = taken_operand(run, h, w, Fp8Site::mlp_hidden, scratch.taken);
    const LinearOperand of_y = gradient_operand(run, d_y, w, Fp8Site::d_mlp, scratch.gradient);
    linear_backward(run, of_y, h_taken, w.down, d_h);
    run(SwigluBwd{d_h, mlp.gate, mlp.up, d_h, d_up});
    // 12. normed again; 13-14. gate and up
    run(RmsNormFwd{mlp.x_mid, w.mlp_norm.weight, c.tiles.place(tile), rstd, c.model.norm_eps});
    const TensorView normed = co_await c.tiles.gather_in_layer(run, tile);
    const LinearOperand taken = taken_operand(run, normed, w, Fp8Site::mlp_input, scratch.taken);
    const LinearOperand of_gate = gradient_operand(run, d_h, w, Fp8Site::d_gate, scratch.gradient);
    linear_backward(run, of_gate, taken, w.gate, d_normed);
    const LinearOperand of_up = gradient_operand(run, d_up, w, Fp8Site::d_up, scratch.gradient);
    linear_backward(run, of_up, taken, w.up, d_normed, Into::add);
    const TensorView d_shard = co_await c.tiles.reduce(run, tile);
    run(RmsNormBwd{d_shard, mlp.x_mid, w.mlp_norm.weight, rstd, d_x, w.mlp_norm.grad});
    // 11. out-projection
    const TensorView d_mid = co_await c.tiles.gather_in_layer(run, tile, d_x);
    const LinearOperand out_taken =
        taken_operand(run, flat(mlp.out), w, Fp8Site::attention_output, scratch.taken);
    const LinearOperand of_mid =
        gradient_operand(run, d_mid, w, Fp8Site::d_attention, scratch.gradient);
    linear_backward(run, of_mid, out_taken, w.o, flat(d_out));
    // 9. what attention's backward needs of its output
    run(AttentionDelta{d_out, mlp.out, delta});
    if (to.sender) to.sender->send(run, tile, {d_out, delta});
}

// `attended`: null, or attention's output, which arrives from the ranks that attended.
void finish_backward(const BlockContext& c, const LayerWeights& w, LayerKept& kept,
                     TokenStore* attended, TokenStore& d_x_store, OutGradients& gradients) {
    Windows windows = c.windows();
    FinishWindows at(c, windows, kept.input, &kept.out, attended, &kept, RowAccess::read);
    OutGradWindows to{windows.update(d_x_store, Rows::shards), {}, {}, {}};
    HeadExchange& heads = c.attention.heads();
    if (c.exchanges_heads()) {
        to.sender.emplace(heads,
                          std::initializer_list<AttendedRows>{{&gradients.d_out, heads.queries()},
                                                              {&gradients.delta, heads.queries()}});
    } else {
        to.d_out = windows.write(gradients.d_out, Rows::tokens);
        to.delta = windows.write(gradients.delta, Rows::tokens);
    }
    windows.for_each([&](const Tile& tile) { return finish_tile_backward(c, w, at, to, tile); });
    if (to.sender) to.sender->finish(c.ops);
}

// Windows on what attention's backward pass gives, or a receiver of a tile's rows.
struct ProjectGradWindows {
    InputWindows x;
    TileWindow cos, sin;
    QkvWindows d;
    std::optional<TilesToTokens> arriving;
    TileWindow d_x;
};

// The gradients of a tile, from sums to the compute type.
TileTask fetch_gradients(const BlockContext& c, ProjectGradWindows& at, Tile tile, QkvTile d) {
    if (!at.arriving) {
        copy(c.ops, at.d(tile), d);
        co_return;
    }
    const TileScratch& scratch = c.scratch(tile);
    const TensorView sum_k = tile_rows(scratch.d_k_sum, tile);
    const TensorView sum_v = tile_rows(scratch.d_v_sum, tile);
    co_await at.arriving->receive(c.ops, tile);
    at.arriving->take(c.ops, tile, 0, d.q, Into::overwrite);
    at.arriving->take(c.ops, tile, 1, sum_k, Into::add);
    at.arriving->take(c.ops, tile, 2, sum_v, Into::add);
    at.arriving->done(tile);
    c.ops(Copy{sum_k, d.k});
    c.ops(Copy{sum_v, d.v});
}

TileTask project_tile_backward(const BlockContext& c, const LayerWeights& w, ProjectGradWindows& at,
                               Tile tile) {
    const Ops& run = c.ops;
    const TileScratch& scratch = c.scratch(tile);
    const TensorView x = at.x.fetch(run, tile, scratch.x);
    const TensorView d_x = at.d_x(tile);
    const TensorView rstd = rows_like(x, scratch.rstd);
    const TensorView d_normed = c.tiles.partial(tile);
    const QkvTile d{tile_rows(scratch.d_q, tile), tile_rows(scratch.d_k, tile),
                    tile_rows(scratch.d_v, tile)};
    co_await fetch_gradients(c, at, tile, d);
    // 5-6 backwards
    run(RopeApply{d.q, at.cos(tile), at.sin(tile), Rotation::backward});
    run(RopeApply{d.k, at.cos(tile), at.sin(tile), Rotation::backward});
    // 1. normed again; 2-4. queries, keys, values
    run(RmsNormFwd{x, w.attention_norm.weight, c.tiles.place(tile), rstd, c.model.norm_eps});
    const TensorView normed = co_await c.tiles.gather_in_layer(run, tile);
    const LinearOperand taken =
        taken_operand(run, normed, w, Fp8Site::attention_input, scratch.taken);
    const auto backward = [&](const TensorView& d_y, const LinearWeight& weight, Fp8Site site,
                              Into into) {
        const LinearOperand of_y = gradient_operand(run, flat(d_y), w, site, scratch.gradient);
        linear_backward(run, of_y, taken, weight, d_normed, into);
    };
    backward(d.q, w.q, Fp8Site::d_query, Into::overwrite);
    backward(d.k, w.k, Fp8Site::d_key, Into::add);
    backward(d.v, w.v, Fp8Site::d_value, Into::add);
    const TensorView d_shard = co_await c.tiles.reduce(run, tile);
    run(RmsNormBwd{d_shard, x, w.attention_norm.weight, rstd, d_x, w.attention_norm.grad});
}

void project_backward(const BlockContext& c, const LayerWeights& w, LayerInput& input,
                      AttendedGradients& d, TokenStore& d_x) {
    Windows windows = c.windows();
    ProjectGradWindows at{{windows, input},
                          windows.read(c.rotary.cos, Rows::tokens),
                          windows.read(c.rotary.sin, Rows::tokens),
                          {},
                          {},
                          {}};
    HeadExchange& heads = c.attention.heads();
    const auto [compute, accum, master] = c.memory.types();
    if (c.exchanges_heads()) {
        at.arriving.emplace(
            heads,
            std::initializer_list<AttendedRows>{
                {&d.d_q, heads.queries()}, {&d.d_kv.k, heads.keys()}, {&d.d_kv.v, heads.keys()}},
            std::initializer_list<DType>{compute, accum, accum});
    } else {
        at.d = QkvWindows(windows, d.d_q, d.d_kv, Rows::tokens, RowAccess::read);
    }
    at.d_x = windows.update(d_x, Rows::shards);
    windows.for_each([&](const Tile& tile) { return project_tile_backward(c, w, at, tile); });
}

}  // namespace

void block_backward(const BlockContext& c, const LayerWeights& w, int layer, LayerKept kept,
                    TokenStore& d_x) {
    QueryKeyValue attended = std::move(kept.attended);
    if (attended.q.empty()) {
        attended = c.attention.make_inputs(layer);
        project(c, w, kept.input, attended, &kept.tiles, RowAccess::read);
    }
    TokenStore attended_out;
    if (kept.lse.empty()) {
        Attention::Output again = c.attention.forward(c.runs, layer, attended, c.pass);
        (c.exchanges_heads() ? attended_out : kept.out) = std::move(again.out);
        kept.lse = std::move(again.lse);
    }
    AttentionBackward attention(c.attention, c.runs, std::move(attended), kept.lse);
    c.listener.on_first_hop();
    OutGradients gradients = attention.make_out_gradients();
    finish_backward(c, w, kept, attended_out.empty() ? nullptr : &attended_out, d_x, gradients);
    attended_out = {};
    for (TokenStore* used : {&kept.out, &kept.x_mid, &kept.gate, &kept.up})
        *used = {};
    AttendedGradients attended_gradients = attention.finish(std::move(gradients));
    c.listener.on_attention_sent();
    project_backward(c, w, kept.input, attended_gradients, d_x);
}

}  // namespace rm
