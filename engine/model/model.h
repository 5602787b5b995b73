#pragma once

#include <memory>
#include <vector>

#include "base/model_preset.h"
#include "engine/model/activations.h"
#include "engine/model/block.h"
#include "engine/model/head_exchange.h"
#include "engine/model/kv_stream.h"
#include "engine/model/ops.h"
#include "engine/model/rank_layout.h"
#include "engine/model/rank_streams.h"
#include "engine/model/rope.h"
#include "engine/model/tensor_tiles.h"
#include "engine/model/weights.h"

namespace rm {

// Seconds the compute stream spent, by kind; see StepReport::phase_seconds.
struct ModelTimers {
    StreamTimer forward;   // embedding and layers
    StreamTimer backward;  // head, loss, layers
    PassTimers attention;  // within both, ring waits included
};

// The model over one rank's share of a sequence: buffers and schedule of a stage. All memory is
// made here; the calls below only queue.
class Model {
public:
    // `layout` and `weights` outlive the model. `rope` is the stage's (config.rope, its theta maybe
    // replaced); types that depend on the context see the layout's. Blocks until the rotary tables
    // are there.
    Model(const RankStreams& streams, const ModelConfig& config, Weights& weights,
          const RankLayout& layout, const RopeConfig& rope);

    // Inputs of the next call, (T) i32 each, in local token order; upload in compute-stream order.
    // The runs that a call gets must live until the stream has passed it.
    const TensorView& tokens() const { return tokens_; }
    const TensorView& targets() const { return targets_; }

    // hidden (Ts, C) compute: the final norm's output, which the head multiplies.
    void queue_hidden(const SequenceRuns& runs, const TensorView& hidden);
    // loss_sum (1) f64 += the sum of this rank's losses.
    void queue_loss(const SequenceRuns& runs, const TensorView& loss_sum);
    // The same, and weight gradients += those of scale * (sum of all losses).
    void queue_loss_and_gradients(const SequenceRuns& runs, double scale,
                                  const TensorView& loss_sum, Accumulate accumulate);

    const Ops& ops() const { return ops_; }
    ModelTimers& timers() { return timers_; }
    PassTimers& ring_exposed() { return ring_.exposed; }
    StreamTimer& ulysses_exposed() { return heads_.exposed(); }
    StreamTimer& tensor_exposed() { return tiles_.exposed(); }

private:
    const ParameterTable& table() const { return weights_.table(); }
    BlockContext context(const SequenceRuns& runs, StreamTimer& attention_timer,
                         const std::function<void()>& attention_sent);
    void set_positions(const SequenceRuns& runs);
    void queue_embedding();
    void queue_embedding_grad();
    const TensorView& layer_output(std::size_t layer) const;
    void queue_forward(const SequenceRuns& runs);
    void queue_head(Pass pass, double scale, const TensorView& loss_sum);
    void queue_tile_loss(const LinearWeight& head, const TokenRange& tile, Pass pass, double scale,
                         const TensorView& loss_sum);
    TensorView queue_cut_head(const LinearWeight& head, const TensorView& normed,
                              const TokenRange& tile, Pass pass, double scale,
                              const TensorView& loss_sum);
    void queue_backward(const SequenceRuns& runs);

    const ModelConfig config_;
    Weights& weights_;
    const RankLayout& layout_;
    const RankShapes shapes_;
    const RopeFrequencies rope_;
    Scratch scratch_;
    std::vector<LayerActivations> layers_;
    Tensor x_last_;  // (Ts, C) compute: the last layer's output
    Tensor tokens_;
    Tensor targets_;
    std::vector<Run> positions_;  // of rope_cos_ and rope_sin_
    Tensor rope_cos_;
    Tensor rope_sin_;
    Tensor statistics_;  // (tensor, tile, 3) f64: of a cut head
    Tensor lse_;         // (tile) f64; likewise
    TensorTiles tiles_;
    HeadExchange heads_;
    RingBuffers ring_;
    Buffer workspace_;
    Ops ops_;
    ModelTimers timers_;
};

}  // namespace rm
