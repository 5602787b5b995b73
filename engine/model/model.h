#pragma once

#include <memory>
#include <vector>

#include "base/model_preset.h"
#include "engine/comm/communicator.h"
#include "engine/model/activations.h"
#include "engine/model/block.h"
#include "engine/model/kv_stream.h"
#include "engine/model/ops.h"
#include "engine/model/rank_layout.h"
#include "engine/model/weights.h"

namespace rm {

// One rank's streams and its way to the others; everything is borrowed.
struct RankStreams {
    Kernels& kernels;
    Stream& compute;
    Stream& communication;
    Communicator& communicator;
};

// Seconds the compute stream spent, by kind; see StepReport::phase_seconds.
struct ModelTimers {
    StreamTimer forward;    // embedding and layers
    StreamTimer backward;   // head, loss, layers
    StreamTimer attention;  // within both, ring waits included
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
    const TensorView& tokens() const { return tokens_; }
    const TensorView& targets() const { return targets_; }

    // hidden (T, C) compute: the final norm's output, which the head multiplies.
    void queue_hidden(const SequenceRuns& runs, const TensorView& hidden);
    // loss_sum (1) f64 += the sum of this rank's losses.
    void queue_loss(const SequenceRuns& runs, const TensorView& loss_sum);
    // The same, and weight gradients += those of scale * (sum of all losses).
    void queue_loss_and_gradients(const SequenceRuns& runs, double scale,
                                  const TensorView& loss_sum);

    const Ops& ops() const { return ops_; }
    ModelTimers& timers() { return timers_; }
    StreamTimer& ring_exposed() { return ring_.exposed; }

private:
    BlockContext context(const SequenceRuns& runs);
    const TensorView& layer_output(std::size_t layer) const;
    void queue_forward(const SequenceRuns& runs);
    void queue_head(double scale, const TensorView& loss_sum, const TensorView& d_x);
    void queue_backward(const SequenceRuns& runs);

    const ModelConfig config_;
    Weights& weights_;
    const RankLayout& layout_;
    Scratch scratch_;
    std::vector<LayerActivations> layers_;
    Tensor x_last_;  // (T, C) compute: the last layer's output
    Tensor tokens_;
    Tensor targets_;
    Tensor rope_cos_;
    Tensor rope_sin_;
    RingBuffers ring_;
    Buffer workspace_;
    Ops ops_;
    ModelTimers timers_;
};

}  // namespace rm
