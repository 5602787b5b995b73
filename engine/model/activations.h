#pragma once

#include <vector>

#include "base/model_preset.h"
#include "engine/model/rank_layout.h"
#include "kernels/kernels.h"

namespace rm {

// What forward leaves for backward, per layer. Everything else is recomputed tile by tile.
struct LayerActivations {
    LayerActivations(Kernels& kernels, const ModelConfig& model, std::int64_t T);

    Tensor x;         // (T, C) compute: the layer's input
    Tensor rstd;      // (T) accum
    Tensor q;         // (T, Hq, D) compute, rotated
    Tensor kv;        // (2T, Hk, D) compute: rotated keys, then values
    Tensor out;       // (T, Hq, D) compute
    Tensor lse;       // (T, Hq) accum
    Tensor x_mid;     // (T, C) compute: after attention
    Tensor rstd_mid;  // (T) accum
    Tensor gate;      // (T, F) compute
    Tensor up;        // (T, F) compute
};

// Used by every layer in turn: the attention state and the gradients in flight.
struct Scratch {
    Scratch(Kernels& kernels, const ModelConfig& model, const RankLayout& layout);

    // Whole local sequence.
    AttentionState state() const { return {acc, m, l}; }
    Tensor acc;    // (T, Hq, D) accum
    Tensor m;      // (T, Hq) accum
    Tensor l;      // (T, Hq) accum
    Tensor d_x;    // (T, C) compute: gradient of the residual stream
    Tensor d_out;  // (T, Hq, D) compute
    Tensor delta;  // (T, Hq) accum
    Tensor d_q;    // (T, Hq, D) accum
    // One tile.
    Tensor rstd;      // (tile) accum: of the final norm
    Tensor normed;    // (tile, C) compute
    Tensor d_normed;  // (tile, C) compute
    Tensor h;         // (tile, F) compute
    Tensor d_h;       // (tile, F) compute; becomes d_gate
    Tensor d_up;      // (tile, F) compute
    Tensor d_q_tile;  // (tile, Hq, D) compute
    Tensor d_k_tile;  // (tile, Hk, D) compute
    Tensor d_v_tile;  // (tile, Hk, D) compute
};

}  // namespace rm
