#pragma once

#include "base/model_preset.h"
#include "engine/model/activations.h"
#include "engine/model/kv_stream.h"
#include "engine/model/ops.h"
#include "engine/model/rank_layout.h"
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
    const Ops& ops;
    StreamTimer& attention_timer;
};

// One transformer layer over this rank's tokens as three loops over chunks: project, attend,
// finish. Reads act.x, fills the rest of `act`, writes the next layer's input to x_next (T, C).
void block_forward(const BlockContext& context, const LayerWeights& weights, LayerActivations& act,
                   KvStream& kv, const TensorView& x_next);

// scratch.d_x: in, the gradient of x_next; out, of act.x. Weight gradients are summed into.
void block_backward(const BlockContext& context, const LayerWeights& weights, LayerActivations& act,
                    KvGradStream& kv);

}  // namespace rm
