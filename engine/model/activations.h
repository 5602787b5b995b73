#pragma once

#include <vector>

#include "engine/attention/attention.h"
#include "engine/model/kept/layer_input.h"
#include "engine/model/linears/linears.h"

namespace rm {

// Whether attention's working tensors stay in place until the backward pass.
bool keeps_attended(const MemoryPolicy& policy);
// Whether attention's output is copied to be kept; otherwise the working tensor stays.
bool copies_out(const MemoryPolicy& policy);

// Activations of a layer that live from its forward to its backward pass: its input and, depending
// on the policy, attention's output and some tiles of the rest. All others are recomputed by tile.
struct LayerKept {
    // Keeps the input alone.
    explicit LayerKept(LayerInput kept) : input(std::move(kept)) {}
    // Makes the stores that the forward pass copies into; that pass moves the other stores here.
    LayerKept(StepMemory& memory, const RankLayout& layout, const RankShapes& shapes, int layer);

    LayerInput input;
    TokenStore out;  // (T, Hq, D) compute: attention's output
    TokenStore lse;  // (S, attended_q) accum
    // `attended`: attention's working tensors, if they stay in place until the backward pass. Else
    // `tiles`: the rows of the kept tiles, by token.
    QueryKeyValue attended;
    QueryKeyValue tiles;
    TokenStore x_mid;  // (kept, C) compute: after attention
    TokenStore gate;   // (kept, F) compute
    TokenStore up;     // (kept, F) compute
};

// Scratch of one tile at a time. Where heads are exchanged, the last group holds what a tile sends
// to attention or receives.
struct TileScratch {
    TileScratch(Kernels& kernels, const RankShapes& shapes, const RankLayout& layout,
                bool exchanges_heads, const LinearPrecision& precision);

    Tensor x;      // (tile / tensor, C) compute; empty where inputs are kept as they are
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

    Tensor q;        // (tile, Hq, D) compute
    Tensor k;        // (tile, Hk, D) compute
    Tensor v;        // (tile, Hk, D) compute
    Tensor out;      // (tile, Hq, D) compute
    Tensor d_out;    // (tile, Hq, D) compute
    Tensor delta;    // (tile, Hq) accum
    Tensor d_k_sum;  // (tile, Hk, D) accum
    Tensor d_v_sum;  // (tile, Hk, D) accum

    // For linears in FP8, or empty: the operand of a product, and the gradient of its result.
    Fp8Scratch taken, gradient;
};

// For each tile that may be under way.
std::vector<TileScratch> make_lanes(Kernels& kernels, const RankShapes& shapes,
                                    const RankLayout& layout, bool exchanges_heads,
                                    const LinearPrecision& precision);

}  // namespace rm
