#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/model/block.h"
#include "engine/model/kept/layer_order.h"
#include "engine/model/rope.h"
#include "engine/model/vocabulary/head.h"

namespace rm {

// Seconds the compute stream spent, by kind; see StepReport::phase_seconds.
struct ModelTimers {
    StreamTimer forward;        // embedding and layers
    StreamTimer backward;       // head, loss, layers
    LayerPassTimers attention;  // within both, ring waits included
};

// The job may round these besides the operands of its linears.
struct ModelRounding {
    AttentionNumbers attention = AttentionNumbers::compute;
    MessageSpec messages;
};

// The model over one rank's share of a sequence: schedules a stage's passes. Owns the data that
// lives between them; the calls below only queue, and take what a pass needs from its arena.
class Model {
public:
    // All references outlive the model.
    Model(const RankStreams& streams, const ModelConfig& config, Weights& weights,
          const RankLayout& layout, RopeFrequencies rope, const ModelRounding& rounding,
          PassMemory& passes, CacheLink cache = {});

    // Inputs of the next call, (T) i32 each, in local token order; upload in compute-stream order.
    // The runs that a call gets must live until the stream has passed it.
    const TensorView& tokens() const { return tokens_; }
    const TensorView& targets() const { return targets_; }

    // hidden (Ts, C) compute: the final norm's output, which the head multiplies.
    void queue_hidden(const SequenceRuns& runs, const TensorView& hidden);
    // Fills the cache with the keys and values of a prompt.
    void queue_prompt(const SequenceRuns& runs);
    // In a decode layout, for the latest token of the cache: logits (tensor, most rows) compute,
    // row i those of tensor rank i's rows of the head. Right on the ranks whose T tokens have it.
    void queue_logits(const SequenceRuns& runs, const TensorView& logits);
    // loss_sum (1) f64 += the sum of this rank's losses. `losses`, (T) in host memory or null, gets
    // each token's in local token order, 0 where there is no target, when the stream has passed.
    void queue_loss(const SequenceRuns& runs, const TensorView& loss_sum, double* losses = nullptr);
    // The same, and weight gradients += those of scale * (sum of all losses).
    void queue_loss_and_gradients(const SequenceRuns& runs, double scale,
                                  const TensorView& loss_sum, Accumulate accumulate);

    // Called while a forward pass is queued: with the embedding's output (layer 0) and that of each
    // layer, (Ts, C) compute on the device; not if the policy keeps these on the host. May queue
    // work on compute. An empty function ends the observation.
    using ResidualWatcher = std::function<void(int layer, const TensorView& x)>;
    void watch_residual(ResidualWatcher watcher) { watcher_ = std::move(watcher); }

    const Ops& ops() const { return ops_; }
    ModelTimers& timers() { return timers_; }
    LayerPassTimers& ring_exposed() { return attention_.ring_exposed(); }
    StreamTimer& ulysses_exposed() { return attention_.heads_exposed(); }
    StreamTimer& tensor_exposed() { return tiles_.exposed(); }
    OffloadTimers& offload_exposed() { return memory_.exposed(); }
    HostTraffic& host_traffic() { return memory_.traffic(); }

private:
    // One micro-batch: the data that is made for it and freed with it.
    struct MicroPass;
    static constexpr int kNoUnit = ParameterTable::kNoUnit;

    TileContext tile_context() { return {config_, layout_, memory_, lanes_, tiles_, ops_}; }
    const ParameterTable& table() const { return weights_.table(); }
    void queue_rotary(MicroPass& pass);
    void queue_embedding(MicroPass& pass, TokenStore& x);
    void queue_lookups(MicroPass& pass, const EmbeddingRows& table, TokenStore& x, Into into);
    TileTask look_up(const EmbeddingRows& table, Tile tile, TensorView x, Into into);
    void queue_embedding_grad(MicroPass& pass, TokenStore& d_x);
    TileTask look_up_grad(const EmbeddingRows& d_table, Tile tile, TensorView d_x);
    void queue_forward(MicroPass& pass);
    void show_residual(int layer, const TokenStore& x) const;
    void queue_backward(MicroPass& pass, TokenStore& d_x, Accumulate accumulate);
    void queue_again(MicroPass& pass, int layer, const BlockListener& listener);
    void queue_block_backward(MicroPass& pass, int layer, const BlockListener& listener,
                              TokenStore& d_x);

    const ModelConfig config_;
    Weights& weights_;
    const RankLayout& layout_;
    const RankShapes shapes_;
    const LayerGroups groups_;
    const RopeFrequencies rope_;
    PassMemory& passes_;
    StepMemory memory_;
    Tensor tokens_;
    Tensor targets_;
    TensorTiles tiles_;
    Buffer workspace_;
    Ops ops_;
    ModelTimers timers_;
    Attention attention_;
    std::vector<TileScratch> lanes_;
    Head head_;
    ResidualWatcher watcher_;
};

}  // namespace rm
