#include "engine/train/trainer.h"

#include <chrono>
#include <ctime>

namespace rm {
namespace {

double seconds_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

Tensor scalars(Kernels& kernels, std::int64_t count) {
    return {kernels.device(), MemoryKind::workspace, DType::f64, {count}};
}

}  // namespace

Trainer::Trainer(const RankStreams& streams, Weights& weights, Model& model, ProgressPage& progress)
    : streams_(streams),
      weights_(weights),
      model_(model),
      ops_(model.ops()),
      progress_(progress),
      loss_sum_(scalars(streams.kernels, 1)),
      stop_(scalars(streams.kernels, 1)),
      norm_sum_(scalars(streams.kernels, 1)),
      clip_(scalars(streams.kernels, 3)),
      gradients_ready_(streams.kernels.device().make_event()),
      gradients_summed_(streams.kernels.device().make_event()) {}

void Trainer::mark(Phase phase) {
    streams_.compute.call_host("progress", [this, phase] {
        progress_.phase = phase;
        progress_.updated_mono_nanos =
            std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    });
}

void Trainer::synchronize() {
    // A failed hop leaves garbage in compute, so the communication error is the one to show.
    streams_.communication.synchronize();
    streams_.compute.synchronize();
}

void Trainer::queue_zero(std::initializer_list<TensorView> tensors) {
    for (const TensorView& tensor : tensors)
        ops_(FillZero{tensor});
}

void Trainer::queue_batch(const StepBatch& batch) {
    Device& device = streams_.kernels.device();
    queue_zero({weights_.all_grads(), loss_sum_, norm_sum_});
    const double scale = 1.0 / static_cast<double>(batch.num_targets);
    mark(Phase::forward);
    for (const MicroBatch& micro : batch.micro_batches) {
        device.upload(micro.tokens.data(), model_.tokens(), streams_.compute);
        device.upload(micro.targets.data(), model_.targets(), streams_.compute);
        model_.queue_loss_and_gradients(*micro.runs, scale, loss_sum_);
    }
}

// Gradients, the loss and the wish to stop, summed over the ranks that share them.
void Trainer::queue_gradient_sum() {
    mark(Phase::reduce);
    streams_.compute.record(*gradients_ready_);
    streams_.communication.wait(*gradients_ready_);
    streams_.communicator.all_reduce_sum(GroupKey::gradient, weights_.all_grads());
    streams_.communicator.all_reduce_sum(GroupKey::gradient, loss_sum_);
    streams_.communicator.all_reduce_sum(GroupKey::world, stop_);
    streams_.communication.record(*gradients_summed_);
    reduce_.begin(streams_.compute);
    streams_.compute.wait(*gradients_summed_);
    reduce_.end(streams_.compute);
}

void Trainer::queue_update(const OptimizerStep& o) {
    if (o.state_in_use) {
        mark(Phase::checkpoint);
        checkpoint_.begin(streams_.compute);
        streams_.compute.wait(*o.state_in_use);
        checkpoint_.end(streams_.compute);
    }
    mark(Phase::optimizer);
    optimizer_.begin(streams_.compute);
    ops_(SumSquares{weights_.all_grads(), norm_sum_});
    ops_(ClipFactor{norm_sum_, o.spec.clip_norm, clip_});
    for (int i = 0; i < static_cast<int>(weights_.table().all.size()); ++i) {
        // Norm weights are scales around one: decaying them would pull them to zero.
        const bool is_norm =
            weights_.table().all[static_cast<std::size_t>(i)].kind == ParameterKind::norm;
        ops_(AdamW{weights_.weight(i), weights_.grad(i), weights_.moment1(i), weights_.moment2(i),
                   clip_, o.learning_rate, o.spec.beta1, o.spec.beta2, o.spec.eps,
                   is_norm ? 0 : o.spec.weight_decay, o.step});
    }
    weights_.prepare(ops_);
    optimizer_.end(streams_.compute);
}

StepResult Trainer::read_result(const StepBatch& batch) {
    StepResult result;
    result.loss = host_loss_ / static_cast<double>(batch.num_targets);
    result.stop = host_stop_ > 0;
    result.grad_norm = host_clip_[0];
    result.finite = host_clip_[2] != 0;
    ModelTimers& timers = model_.timers();
    result.ring_wait_seconds = model_.ring_exposed().take();
    const double layers = timers.forward.take() + timers.backward.take();
    const double attention = timers.attention.take();  // the ring's waits are within
    result.phase_seconds = {{"attention", attention - result.ring_wait_seconds},
                            {"gemm", layers - attention},
                            {"ring_exposed", result.ring_wait_seconds},
                            {"reduce_exposed", reduce_.take()},
                            {"checkpoint", checkpoint_.take()},
                            {"optimizer", optimizer_.take()}};
    return result;
}

StepResult Trainer::step(const StepBatch& batch, const OptimizerStep& optimizer, StopRequest stop) {
    RM_CHECK(batch.num_targets > 0, "a step without a target");
    const double begin = seconds_now();
    Device& device = streams_.kernels.device();
    host_stop_ = stop == StopRequest::yes ? 1 : 0;
    device.upload(&host_stop_, stop_, streams_.compute);
    queue_batch(batch);
    queue_gradient_sum();
    queue_update(optimizer);
    device.download(loss_sum_, &host_loss_, streams_.compute);
    device.download(stop_, &host_stop_, streams_.compute);
    device.download(clip_, host_clip_, streams_.compute);
    synchronize();
    StepResult result = read_result(batch);
    result.seconds = seconds_now() - begin;
    return result;
}

StepResult Trainer::gradients(const StepBatch& batch) {
    Device& device = streams_.kernels.device();
    host_stop_ = 0;
    device.upload(&host_stop_, stop_, streams_.compute);
    queue_batch(batch);
    queue_gradient_sum();
    device.download(loss_sum_, &host_loss_, streams_.compute);
    synchronize();
    return read_result(batch);
}

double Trainer::total_loss(const StepBatch& batch) {
    Device& device = streams_.kernels.device();
    mark(Phase::evaluation);
    queue_zero({loss_sum_});
    for (const MicroBatch& micro : batch.micro_batches) {
        device.upload(micro.tokens.data(), model_.tokens(), streams_.compute);
        device.upload(micro.targets.data(), model_.targets(), streams_.compute);
        model_.queue_loss(*micro.runs, loss_sum_);
    }
    streams_.compute.record(*gradients_ready_);
    streams_.communication.wait(*gradients_ready_);
    streams_.communicator.all_reduce_sum(GroupKey::gradient, loss_sum_);
    streams_.communication.record(*gradients_summed_);
    streams_.compute.wait(*gradients_summed_);
    device.download(loss_sum_, &host_loss_, streams_.compute);
    synchronize();
    return host_loss_;
}

}  // namespace rm
