#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/model/model.h"
#include "engine/model/weight_state.h"
#include "engine/model/weights.h"
#include "engine/train/batch.h"
#include "engine/train/progress.h"

namespace rm {

// The results of a step that the host learns after its last op.
struct StepResult {
    double loss = 0;       // nats per target
    double grad_norm = 0;  // before clipping
    bool finite = true;
    bool stop = false;        // some rank has been asked to stop
    bool checkpoint = false;  // some rank wants a checkpoint after this step
    double seconds = 0;
    double executed_flops = 0;  // of all ranks
    HostTraffic host_traffic;   // this rank's, queued since the last result
    std::map<std::string, double> phase_seconds;
    std::map<std::string, double> wait_seconds;  // by axis: compute waiting for it
};

// Losses in nats.
struct TokenLosses {
    double total = 0;  // of all ranks
    // This rank's tokens, (T) of each micro-batch in local token order; 0 where there is no
    // target.
    std::vector<std::vector<double>> by_micro_batch;
};

struct OptimizerStep {
    OptimizerSpec spec;
    std::uint64_t seed = 1;  // of the rounding of bf16 moments
    double learning_rate = 0;
    std::int64_t step = 1;  // 1 on the first update
    // A checkpoint reads weights and moments until this event; null: none does.
    const Event* state_in_use = nullptr;
};

// Queues and runs steps of one stage. A step is a function of model, mesh, plan and token layout
// only: everything is queued without looking at a device value, and loss, norm and the finite flag
// are read after the last op.
class Trainer {
public:
    // Borrows all; `progress` follows the phases.
    Trainer(const RankStreams& streams, WeightState& state, Weights& weights, Model& model,
            ProgressPage& progress);

    // A rank's wish for the end of the step; all ranks learn of it with the loss. With state on the
    // host the update is only begun: it runs on during the next step's forward, and
    // Weights::finish_update() waits for it. A failure in it is thrown there or by the next call
    // here.
    enum class Wish { none, checkpoint, stop };
    StepResult step(const StepBatch& batch, const OptimizerStep& optimizer, Wish wish);

    // Gradients as after step's reduction, without an update; for tests.
    StepResult gradients(const StepBatch& batch);

    // The losses of `batch`, without gradients.
    TokenLosses losses(const StepBatch& batch);

private:
    void upload(const MicroBatch& micro);
    void queue_batch(const StepBatch& batch);
    void queue_gradient_norm(double clip_norm);
    AdamW update_of(const StatePiece& piece, const OptimizerStep& optimizer) const;
    bool state_on_host() const { return streams_.host != nullptr; }
    void wait_for_writer(const OptimizerStep& optimizer);
    void queue_weights_update(const OptimizerStep& optimizer);
    void queue_update(const OptimizerStep& optimizer);
    void begin_host_update(const OptimizerStep& optimizer);
    struct GroupScalar {
        GroupKey group;
        TensorView scalar;
    };
    template <typename Work>
    void communicate(StreamTimer& exposed, const Work& work);
    void sum_scalars(std::initializer_list<GroupScalar> scalars, StreamTimer& exposed);
    void queue_zero(std::initializer_list<TensorView> tensors);
    void queue_fp8_history();
    void queue_fp8_effects();
    void mark(Phase phase);
    void finish_loss();
    StepResult read_result(const StepBatch& batch);
    // Moves the timers' counts into the result.
    void take_times(StepResult& result);

    RankStreams streams_;
    WeightState& state_;
    Weights& weights_;
    Model& model_;
    const Ops& ops_;
    ProgressPage& progress_;
    Tensor loss_sum_;     // (1) f64, over the gradient group
    Tensor wishes_;       // (1) f64, over the world
    Tensor flops_;        // (1) f64, over the world
    Tensor norm_sum_;     // (1) f64
    Tensor clip_;         // (3) f64: norm, factor, finite
    Tensor fp8_largest_;  // (ranks, sites) f32, of delayed scaling
    std::unique_ptr<Event> ready_;
    std::unique_ptr<Event> summed_;
    StreamTimer reduce_;
    StreamTimer checkpoint_;
    StreamTimer optimizer_;
    StreamTimer norm_exposed_;  // within optimizer_
    double host_loss_ = 0;
    double host_wishes_ = 0;
    double host_flops_ = 0;
    double host_clip_[3] = {};
    std::vector<float> host_fp8_largest_;
    std::vector<std::vector<double>> host_losses_;  // by micro-batch
};

}  // namespace rm
