#pragma once

#include "engine/model/block.h"

// The pieces that both passes of a block share (block.cc, block_backward.cc).
namespace rm::block {

// A (rows, heads, head dim) tensor as a matrix, for GEMMs.
inline TensorView flat(const TensorView& tensor) {
    return tensor.reshaped({tensor.dim(0), tensor.dim(1) * tensor.dim(2)});
}

// Scratch for as many rows as `like` has.
inline TensorView rows_like(const TensorView& like, const Tensor& scratch) {
    return scratch->rows(0, like.dim(0));
}
inline TensorView tile_rows(const Tensor& scratch, const Tile& tile) {
    return scratch->rows(0, tile.range.count);
}

// Windows on queries, keys and values, or on their gradients; a tile's rows of them.
struct QkvTile {
    TensorView q, k, v;
};
struct QkvWindows {
    QkvWindows(Windows& all, TokenStore& q_store, TokenStore& k_store, TokenStore& v_store,
               Rows rows, RowAccess access)
        : q(all.on(&q_store, rows, access)),
          k(all.on(&k_store, rows, access)),
          v(all.on(&v_store, rows, access)) {}
    QkvTile operator()(const Tile& tile) const { return {q(tile), k(tile), v(tile)}; }

    TileWindow q, k, v;
};
inline void copy(const Ops& run, const QkvTile& from, const QkvTile& to) {
    run(Copy{from.q, to.q});
    run(Copy{from.k, to.k});
    run(Copy{from.v, to.v});
}

// Steps 1-6 for every tile. `kept`: null, or the stores to which the forward pass copies rows of
// kept tiles (write) and from which the backward pass fetches them instead of recomputing (read).
void project(const BlockContext& c, const LayerWeights& w, TokenStore& x, QueryKeyValue& tokens,
             QueryKeyValue* kept, RowAccess kept_access);

struct FinishWindows {
    FinishWindows(Windows& all, TokenStore& x_store, TokenStore& out_store, LayerKept* kept,
                  RowAccess kept_access)
        : x(all.read(x_store, Rows::shards)), out(all.read(out_store, Rows::tokens)) {
        if (kept == nullptr) return;
        kept_x_mid = all.on(&kept->x_mid, Rows::kept_shards, kept_access);
        kept_gate = all.on(&kept->gate, Rows::kept, kept_access);
        kept_up = all.on(&kept->up, Rows::kept, kept_access);
    }

    TileWindow x, out, kept_x_mid, kept_gate, kept_up;
};

// Activations between attention and the end of the MLP, where they are kept or in scratch.
struct MlpTile {
    MlpTile(const BlockContext& c, const FinishWindows& at, const Tile& tile)
        : x(at.x(tile)), out(at.out(tile)), kept(tile.kept() && !at.kept_gate.empty()) {
        x_mid = kept ? at.kept_x_mid(tile) : rows_like(x, c.scratch.x_mid);
        gate = kept ? at.kept_gate(tile) : tile_rows(c.scratch.gate, tile);
        up = kept ? at.kept_up(tile) : tile_rows(c.scratch.up, tile);
    }
    TensorView x;    // (tile / tensor, C) compute: the layer's input
    TensorView out;  // (tile, Hq, D) compute: attention's output
    bool kept;
    TensorView x_mid;  // (tile / tensor, C) compute: after attention
    TensorView gate;   // (tile, F) compute
    TensorView up;     // (tile, F) compute
};

// Steps 10-14 for one tile.
void mlp_inputs(const BlockContext& c, const LayerWeights& w, const Tile& tile, const MlpTile& mlp);

}  // namespace rm::block
