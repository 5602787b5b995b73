#pragma once

#include "base/model_preset.h"
#include "engine/model/parameters.h"
#include "engine/model/rank_layout.h"
#include "engine/model/token_store.h"
#include "kernels/kernels.h"

namespace rm {

// Sizes of one rank's tensors. Token by token it works on T tokens and its tensor share of heads
// and features, and of the residual stream it holds Ts of them; attention sees the slot's S tokens
// and a share of those heads.
struct RankShapes {
    RankShapes(const ModelConfig& model, const RankLayout& layout);

    std::int64_t T = 0;           // tokens
    std::int64_t Ts = 0;          // T / tensor
    std::int64_t S = 0;           // tokens of the slot: ulysses x T
    std::int64_t tile = 0;        // tokens of the longest tile
    std::int64_t C = 0;           // hidden
    std::int64_t F = 0;           // feed-forward / tensor
    std::int64_t D = 0;           // head dim
    std::int64_t Hq = 0;          // query heads / tensor
    std::int64_t Hk = 0;          // key-value heads that those use
    std::int64_t attended_q = 0;  // query heads in attention: Hq / ulysses
    // Key-value heads in attention: of the query heads there, each run of attended_q / attended_kv
    // uses one.
    std::int64_t attended_kv = 0;
};

// Queries, keys and values of N tokens (T with all heads, or S with a share of them), rotated; or
// gradients of them.
struct QueryKeyValue {
    TokenStore q;   // (N, heads, D)
    TokenStore kv;  // (2N, heads, D): keys, then values; empty where they lie apart
    TokenStore k;   // (N, heads, D), of kv or its own
    TokenStore v;   // likewise
};

// Parts of a layer that live from its forward to its backward pass: its input, and as policy says
// attention's output and some tiles of the rest. Everything else is computed again, tile by tile.
struct LayerKept {
    TokenStore x;    // (Ts, C) compute: the layer's input
    TokenStore out;  // (T, Hq, D) compute: attention's output
    TokenStore lse;  // (S, attended_q) accum
    // All of what attention works on, where all tiles are kept where they are; else rows of the
    // kept tiles, by token.
    QueryKeyValue attended;
    QueryKeyValue tiles;
    TokenStore x_mid;  // (kept, C) compute: after attention
    TokenStore gate;   // (kept, F) compute
    TokenStore up;     // (kept, F) compute
};

// One tile of what is used and gone at once; every tile in turn.
struct Scratch {
    Scratch(Kernels& kernels, const RankShapes& shapes, int tensor);

    Tensor x_mid;  // (tile / tensor, C) compute
    Tensor rstd;   // (tile / tensor) accum
    Tensor gate;   // (tile, F) compute
    Tensor up;     // (tile, F) compute
    Tensor h;      // (tile, F) compute
    Tensor d_h;    // (tile, F) compute; becomes d_gate
    Tensor d_up;   // (tile, F) compute
    Tensor d_q;    // (tile, Hq, D) compute
    Tensor d_k;    // (tile, Hk, D) compute
    Tensor d_v;    // (tile, Hk, D) compute
};

}  // namespace rm
