#pragma once

#include "base/model_preset.h"
#include "engine/model/parameters.h"
#include "engine/model/rank_layout.h"
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

// What forward leaves for backward, per layer. Everything else is recomputed tile by tile.
struct LayerActivations {
    LayerActivations(Kernels& kernels, const RankShapes& shapes);

    Tensor x;         // (Ts, C) compute: the layer's input
    Tensor rstd;      // (Ts) accum
    Tensor q;         // (S, attended_q, D) compute, rotated
    Tensor kv;        // (2S, attended_kv, D) compute: rotated keys, then values
    Tensor lse;       // (S, attended_q) accum
    Tensor out;       // (T, Hq, D) compute
    Tensor x_mid;     // (Ts, C) compute: after attention
    Tensor rstd_mid;  // (Ts) accum
    Tensor gate;      // (T, F) compute
    Tensor up;        // (T, F) compute
};

// Used by every layer in turn: the attention state and the gradients in flight.
struct Scratch {
    Scratch(Kernels& kernels, const RankShapes& shapes, int tensor);

    // Whole slot.
    AttentionState state() const { return {acc, m, l}; }
    Tensor acc;    // (S, attended_q, D) accum
    Tensor m;      // (S, attended_q) accum
    Tensor l;      // (S, attended_q) accum
    Tensor d_out;  // (S, attended_q, D) compute
    Tensor delta;  // (S, attended_q) accum
    Tensor d_q;    // (S, attended_q, D) accum
    Tensor d_x;    // (Ts, C) compute: gradient of the residual stream
    // One tile.
    Tensor rstd;      // (tile / tensor) accum: of the final norm
    Tensor h;         // (tile, F) compute
    Tensor d_h;       // (tile, F) compute; becomes d_gate
    Tensor d_up;      // (tile, F) compute
    Tensor d_q_tile;  // (tile, Hq, D) compute
    Tensor d_k_tile;  // (tile, Hk, D) compute
    Tensor d_v_tile;  // (tile, Hk, D) compute
};

}  // namespace rm
