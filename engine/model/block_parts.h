#pragma once

#include <cmath>
#include <span>

#include "engine/model/block.h"
#include "engine/model/layer_stores.h"

// The pieces that both passes of a block share (block.cc, block_backward.cc).
namespace rm::block {

inline double attention_scale(const ModelConfig& model) {
    return 1 / std::sqrt(static_cast<double>(model.head_dim));
}

// A (rows, heads, head dim) tensor as a matrix, for GEMMs.
inline TensorView flat(const TensorView& tensor) {
    return tensor.reshaped({tensor.dim(0), tensor.dim(1) * tensor.dim(2)});
}

inline TensorView tile_rows(const Tensor& scratch, const TokenRange& rows) {
    return scratch->rows(0, rows.count);
}

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

// 1-6 of every tile; with `kept`, rows of the tiles that are kept are copied there.
void project(const BlockContext& c, const LayerWeights& w, TokenStore& x, QueryKeyValue& tokens,
             QueryKeyValue* kept);
// The same for the backward pass: what was kept is brought, the rest is computed again.
void project_again(const BlockContext& c, const LayerWeights& w, LayerKept& kept,
                   QueryKeyValue& tokens);

// Makes the inputs of attention with a function that projects the tokens.
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

inline std::span<const QueryChunk> chunks_of(const BlockContext& c, const AttentionPass& pass) {
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

struct Attention {
    TokenStore out;  // (T, Hq, D) compute
    TokenStore lse;  // (S, attended_q) accum
};

// 7-9 of every query, and attention's output by token.
Attention attention(const BlockContext& c, int layer, QueryKeyValue& attended);

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

// 10-14 of a tile.
void mlp_inputs(const BlockContext& c, const LayerWeights& w, const FinishWindows& at,
                const MlpTile& tile);

}  // namespace rm::block
