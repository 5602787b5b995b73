#pragma once

#include <functional>
#include <vector>

#include "engine/attention/attention.h"
#include "engine/model/activations.h"
#include "engine/model/tensor_tiles.h"
#include "engine/model/weights.h"
#include "engine/windows/windows.h"
#include "spec/model_preset.h"

namespace rm {

// Rotary tables of this rank's tokens.
struct RotaryTables {
    TokenStore cos;  // (T, D/2) accum
    TokenStore sin;  // (T, D/2) accum
};

// A block calls these at points where other communication may be queued behind its own.
struct BlockListener {
    // Backward: the first hop of the ring is on its way.
    std::function<void()> on_first_hop;
    // Attention has queued all it sends; later messages may take until the next layer.
    std::function<void()> on_attention_sent;
};

// Borrowed for one micro-batch.
struct BlockContext : TileContext {
    const SequenceRuns& runs;
    RotaryTables& rotary;
    Attention& attention;
    const BlockListener& listener;
    LayerPass pass;  // for which the time counts

    bool exchanges_heads() const { return !attention.heads().direct(); }
};

// One transformer layer over this rank's tokens as three loops over chunks: project, attend,
// finish. Reads `input`, and rounds it if it has a store for that; writes the next layer's to
// x_next, (Ts, C) compute. With `kept` fills in what else the policy keeps.
void block_forward(const BlockContext& context, const LayerWeights& weights, int layer,
                   LayerInput& input, TokenStore& x_next, LayerKept* kept);

// d_x (Ts, C) compute: in, the gradient of x_next; out, that of its input. Adds to the weight
// gradients. Consumes `kept`, and computes again whatever is not there.
void block_backward(const BlockContext& context, const LayerWeights& weights, int layer,
                    LayerKept kept, TokenStore& d_x);

}  // namespace rm
