#pragma once

#include <optional>

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

// A tile's rows of queries, keys and values, or of their gradients.
struct QkvTile {
    TensorView q, k, v;
};
struct QkvWindows {
    QkvWindows() = default;
    QkvWindows(Windows& all, TokenStore& q_store, KeyValue& kv, Rows rows, RowAccess access)
        : q(all.on(&q_store, rows, access)),
          k(all.on(&kv.k, rows, access)),
          v(all.on(&kv.v, rows, access)) {}
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
void project(const BlockContext& c, const LayerWeights& w, LayerInput& input,
             QueryKeyValue& attended, QueryKeyValue* kept, RowAccess kept_access);

// Windows on what steps 10-17 take and keep. Attention's output of a tile is in `out`, or arrives
// from the ranks that attended (`arriving`): in `out` if there is a store to fill in, else in
// scratch.
struct FinishWindows {
    // `attended`: null where `out_store` has been filled in.
    FinishWindows(const BlockContext& c, Windows& all, LayerInput& input, TokenStore* out_store,
                  TokenStore* attended, LayerKept* kept, RowAccess kept_access)
        : x(all, input),
          out(all.on(out_store, Rows::tokens,
                     attended == nullptr ? RowAccess::read : RowAccess::write)),
          reads_kept(kept != nullptr && kept_access == RowAccess::read) {
        if (attended != nullptr) {
            HeadExchange& heads = c.attention.heads();
            arriving.emplace(heads,
                             std::initializer_list<AttendedRows>{{attended, heads.queries()}},
                             std::initializer_list<DType>{attended->shape().dtype()});
        }
        if (kept == nullptr) return;
        kept_x_mid = all.on(&kept->x_mid, Rows::kept_shards, kept_access);
        kept_gate = all.on(&kept->gate, Rows::kept, kept_access);
        kept_up = all.on(&kept->up, Rows::kept, kept_access);
    }

    InputWindows x;
    TileWindow out, kept_x_mid, kept_gate, kept_up;
    bool reads_kept = false;  // steps 10-14 are left out for kept tiles
    std::optional<TilesToTokens> arriving;
};

// Activations between attention and the end of the MLP, where they are kept or in scratch. Fetches
// the layer's input, which steps 10-14 read, where these are not kept.
struct MlpTile {
    MlpTile(const BlockContext& c, const FinishWindows& at, const Tile& tile)
        : kept(tile.kept() && !at.kept_gate.empty()),
          x(kept && at.reads_kept ? at.x.place(tile, c.scratch(tile).x)
                                  : at.x.fetch(c.ops, tile, c.scratch(tile).x)),
          out(at.out.empty() ? tile_rows(c.scratch(tile).out, tile) : at.out(tile)) {
        x_mid = kept ? at.kept_x_mid(tile) : rows_like(x, c.scratch(tile).x_mid);
        gate = kept ? at.kept_gate(tile) : tile_rows(c.scratch(tile).gate, tile);
        up = kept ? at.kept_up(tile) : tile_rows(c.scratch(tile).up, tile);
    }
    bool kept;
    TensorView x;      // (tile / tensor, C) compute: the layer's input
    TensorView out;    // (tile, Hq, D) compute: attention's output
    TensorView x_mid;  // (tile / tensor, C) compute: after attention
    TensorView gate;   // (tile, F) compute
    TensorView up;     // (tile, F) compute
};

// Fills in mlp.out, if it arrives.
TileTask fetch_out(const BlockContext& c, FinishWindows& at, Tile tile, const MlpTile& mlp);

// Steps 10-14 for one tile.
TileTask mlp_inputs(const BlockContext& c, const LayerWeights& w, Tile tile, const MlpTile& mlp);

}  // namespace rm::block
