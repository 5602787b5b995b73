#pragma once

#include <functional>

#include "base/model_preset.h"
#include "engine/model/activations.h"
#include "engine/model/head_exchange.h"
#include "engine/model/kv_stream.h"
#include "engine/model/ops.h"
#include "engine/model/rank_layout.h"
#include "engine/model/tensor_tiles.h"
#include "engine/model/weights.h"

namespace rm {

// What a block works with besides its weights and activations; borrowed for one micro-batch.
struct BlockContext {
    const ModelConfig& model;
    const RankLayout& layout;
    const SequenceRuns& runs;
    const TensorView& rope_cos;  // (T, D/2) accum
    const TensorView& rope_sin;  // (T, D/2) accum
    Scratch& scratch;
    TensorTiles& tiles;
    HeadExchange& heads;
    const Ops& ops;
    StreamTimer& attention_timer;
    // Called when all that attention sends has been queued: what is sent next may take until the
    // next layer.
    const std::function<void()>& attention_sent;
};

// One transformer layer over this rank's tokens as three loops over chunks: project, attend,
// finish. Reads act.x, fills the rest of `act`, writes the next layer's input to x_next (Ts, C).
void block_forward(const BlockContext& context, const LayerWeights& weights, LayerActivations& act,
                   KvStream& kv, const TensorView& x_next);

// scratch.d_x: in, the gradient of x_next; out, of act.x. Weight gradients are summed into.
void block_backward(const BlockContext& context, const LayerWeights& weights, LayerActivations& act,
                    KvGradStream& kv);

}  // namespace rm
