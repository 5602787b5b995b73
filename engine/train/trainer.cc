#include "engine/train/trainer.h"

#include <cmath>

#include "base/clock.h"

namespace rm {
namespace {

Tensor scalars(Kernels& kernels, std::int64_t count) {
    return {kernels.device(), MemoryKind::workspace, DType::f64, {count}};
}

// The ranks' wishes are summed in one number: checkpoints below, stops above.
constexpr double kStopWish = 1 << 20;

double number_of(Trainer::Wish wish) {
    if (wish == Trainer::Wish::stop) return kStopWish;
    return wish == Trainer::Wish::checkpoint ? 1 : 0;
}

}  // namespace

Trainer::Trainer(const RankStreams& streams, WeightState& state, Weights& weights, Model& model,
                 ProgressPage& progress)
    : streams_(streams),
      state_(state),
      weights_(weights),
      model_(model),
      ops_(model.ops()),
      progress_(progress),
      loss_sum_(scalars(streams.kernels, 1)),
      wishes_(scalars(streams.kernels, 1)),
      flops_(scalars(streams.kernels, 1)),
      norm_sum_(scalars(streams.kernels, 1)),
      clip_(scalars(streams.kernels, 3)),
      ready_(streams.kernels.device().make_event()),
      summed_(streams.kernels.device().make_event()) {
    const Fp8History& fp8 = weights.fp8().history();
    if (!fp8.delayed()) return;
    const std::int64_t ranks = streams.communicator.group(GroupKey::world).size();
    fp8_largest_ = Tensor(streams.kernels.device(), MemoryKind::workspace, DType::f32,
                          {ranks, fp8.num_sites()});
    host_fp8_largest_.resize(usize(ranks * fp8.num_sites()));
}

void Trainer::mark(Phase phase) {
    streams_.compute.call_host("progress", [this, phase] {
        progress_.phase = phase;
        progress_.collectives.pulse.beat();
    });
}

void Trainer::queue_zero(std::initializer_list<TensorView> tensors) {
    for (const TensorView& tensor : tensors)
        ops_(FillZero{tensor});
}

void Trainer::upload(const MicroBatch& micro) {
    Device& device = streams_.kernels.device();
    device.upload(micro.tokens.data(), model_.tokens(), streams_.compute);
    device.upload(micro.targets.data(), model_.targets(), streams_.compute);
}

void Trainer::queue_batch(const StepBatch& batch) {
    weights_.begin_gradients(ops_);
    weights_.fp8().begin_step(streams_.kernels, streams_.compute);
    queue_zero({loss_sum_, norm_sum_});
    const double scale = 1.0 / static_cast<double>(batch.num_targets);
    mark(Phase::forward);
    for (const MicroBatch& micro : batch.micro_batches) {
        const bool last = &micro == &batch.micro_batches.back();
        upload(micro);
        model_.queue_loss_and_gradients(micro.runs, scale, loss_sum_,
                                        last ? Accumulate::last : Accumulate::more);
    }
}

// Queues `work` on communication, after compute so far; compute waits for it.
template <typename Work>
void Trainer::communicate(StreamTimer& exposed, const Work& work) {
    if (streams_.communicator.group(GroupKey::world).size() == 1) return;
    streams_.order.record(streams_.compute, *ready_);
    streams_.order.wait(streams_.communication, *ready_);
    work(streams_.communicator);
    streams_.order.record(streams_.communication, *summed_);
    exposed.begin(streams_.compute);
    streams_.order.wait(streams_.compute, *summed_);
    exposed.end(streams_.compute);
}

// Sums scalars, each over its group of ranks.
void Trainer::sum_scalars(std::initializer_list<GroupScalar> scalars, StreamTimer& exposed) {
    communicate(exposed, [&](Communicator& communicator) {
        for (const auto& [group, scalar] : scalars)
            communicator.all_reduce_sum(group, scalar);
    });
}

// The largest numbers of the step go to all ranks.
void Trainer::queue_fp8_history() {
    const Fp8History& fp8 = weights_.fp8().history();
    if (!fp8.delayed()) return;
    const int rank = streams_.communicator.group(GroupKey::world).index;
    ops_(Copy{fp8.largest(), fp8_largest_->rows(rank, 1)});
    communicate(reduce_, [&](Communicator& communicator) {
        communicator.all_gather(GroupKey::world, fp8_largest_);
    });
    streams_.kernels.device().download(fp8_largest_, host_fp8_largest_.data(), streams_.compute);
}

// Sums the effects of rounding over all ranks.
void Trainer::queue_fp8_effects() {
    Fp8Monitor& monitor = weights_.fp8().monitor();
    if (!monitor.observes()) return;
    sum_scalars({{GroupKey::world, monitor.effects()}}, norm_exposed_);
    monitor.queue_download(streams_.kernels.device(), streams_.compute);
}

// Every rank squares what it owns. The loss and the wishes travel with the sum. A step that rounded
// an infinity must not look finite, so the sums of FP8's effects come before.
void Trainer::queue_gradient_norm(double clip_norm) {
    queue_fp8_effects();
    weights_.sum_squares(ops_, norm_sum_);
    sum_scalars({{GroupKey::gradient, loss_sum_},
                 {GroupKey::world, wishes_},
                 {GroupKey::world, flops_},
                 {GroupKey::world, norm_sum_}},
                norm_exposed_);
    ops_(ClipFactor{norm_sum_, clip_norm, clip_, weights_.fp8().monitor().effects()});
}

// The update of one piece; the clip factor is filled in later.
AdamW Trainer::update_of(const StatePiece& piece, const OptimizerStep& o) const {
    const Parameter& p = state_.parameter(piece.parameter);
    // Norm weights are scales around one: decaying them would pull them to zero.
    const bool is_norm = p.kind == ParameterKind::norm;
    AdamW op{piece.weight,
             piece.grad,
             piece.moment1,
             piece.moment2,
             {},
             o.learning_rate,
             o.spec.beta1,
             o.spec.beta2,
             o.spec.eps,
             is_norm ? 0 : o.spec.weight_decay,
             o.step};
    op.rounding_seed = o.seed + static_cast<std::uint64_t>(piece.parameter);
    op.first_element = piece.first;
    if (p.cut == Cut::rows) op.first_element += p.part_start * p.shape[1];
    if (p.cut == Cut::columns) {
        op.columns = p.part_shape[1];
        op.all_columns = p.shape[1];
        op.first_column = p.part_start;
    }
    return op;
}

void Trainer::wait_for_writer(const OptimizerStep& o) {
    if (!o.state_in_use) return;
    mark(Phase::checkpoint);
    checkpoint_.begin(streams_.compute);
    streams_.order.wait(streams_.compute, *o.state_in_use);
    checkpoint_.end(streams_.compute);
}

void Trainer::queue_weights_update(const OptimizerStep& o) {
    weights_.update(ops_, clip_, [&](const StatePiece& piece) { return update_of(piece, o); });
}

// With state on the host, queues only the compute-stream work that the update depends on.
void Trainer::queue_update(const OptimizerStep& o) {
    if (!state_on_host()) wait_for_writer(o);
    mark(Phase::optimizer);
    optimizer_.begin(streams_.compute);
    queue_gradient_norm(o.spec.clip_norm);
    if (!state_on_host()) queue_weights_update(o);
    optimizer_.end(streams_.compute);
}

// Runs after all streams have joined: earlier failures have been thrown, and the streams run only
// the update.
void Trainer::begin_host_update(const OptimizerStep& o) {
    if (o.state_in_use) streams_.order.wait(streams_.host->stream, *o.state_in_use);
    queue_weights_update(o);
}

StepResult Trainer::read_result(const StepBatch& batch) {
    StepResult result;
    result.loss = host_loss_ / static_cast<double>(batch.num_targets);
    result.stop = host_wishes_ >= kStopWish;
    result.checkpoint = std::fmod(host_wishes_, kStopWish) > 0;
    result.grad_norm = host_clip_[0];
    result.finite = host_clip_[2] != 0;
    result.executed_flops = host_flops_;
    result.host_traffic = weights_.take_host_traffic();
    result.host_traffic.add(model_.host_traffic().take());
    take_times(result);
    return result;
}

void Trainer::take_times(StepResult& result) {
    ModelTimers& timers = model_.timers();
    const double ring = model_.ring_exposed().take();
    const double ulysses = model_.ulysses_exposed().take();
    const double tensor = model_.tensor_exposed().take();
    const double gather = weights_.gather_exposed().take();
    const double drain = weights_.drain_exposed().take();
    const double norm = norm_exposed_.take();
    const double reduce = weights_.reduce_exposed().take() + drain + reduce_.take() + norm;
    const double offload_attention = model_.offload_exposed().attention.take();
    const double offload = offload_attention + model_.offload_exposed().tokens.take();
    const double layers = timers.forward.take() + timers.backward.take();
    const double update = weights_.update_exposed().take();  // of the step before
    const double attention = timers.attention.take();        // the ring's waits are within
    // Gathers are part of the passes at ZeRO stage 3 and after updates on the host, else of the
    // update.
    const bool in_passes = state_.share().stage == 3 || state_on_host();
    const double waits =
        ulysses + tensor + drain + update + offload - offload_attention + (in_passes ? gather : 0);
    const double optimizer = optimizer_.take() - norm - (in_passes ? 0 : gather) + update;
    result.wait_seconds = {
        {"ring", ring}, {"ulysses", ulysses}, {"tensor", tensor}, {"gradient", gather + reduce}};
    result.phase_seconds = {{"attention", attention - ring - offload_attention},
                            {"gemm", layers - attention - waits},
                            {exposed_phase("ring"), ring},
                            {exposed_phase("offload"), offload},
                            {exposed_phase("ulysses"), ulysses},
                            {exposed_phase("tensor"), tensor},
                            {exposed_phase("gather"), gather},
                            {exposed_phase("reduce"), reduce},
                            {"checkpoint", checkpoint_.take()},
                            {"optimizer", optimizer}};
}

StepResult Trainer::step(const StepBatch& batch, const OptimizerStep& optimizer, Wish wish) {
    RM_CHECK(batch.num_targets > 0, "a step without a target");
    const Stopwatch watch;
    Device& device = streams_.kernels.device();
    host_wishes_ = number_of(wish);
    device.upload(&host_wishes_, wishes_, streams_.compute);
    queue_batch(batch);
    mark(Phase::reduce);
    weights_.finish_gradients(ops_);
    host_flops_ = ops_.take_flops();
    device.upload(&host_flops_, flops_, streams_.compute);
    queue_update(optimizer);
    queue_fp8_history();
    device.download(loss_sum_, &host_loss_, streams_.compute);
    device.download(wishes_, &host_wishes_, streams_.compute);
    device.download(flops_, &host_flops_, streams_.compute);
    device.download(clip_, host_clip_, streams_.compute);
    weights_.synchronize();
    StepResult result = read_result(batch);
    if (result.finite) weights_.fp8().history().end_step(host_fp8_largest_);
    if (state_on_host()) begin_host_update(optimizer);
    result.seconds = watch.seconds();
    return result;
}

// The loss of all that is queued, outside of a step.
void Trainer::finish_loss() {
    sum_scalars({{GroupKey::gradient, loss_sum_}}, reduce_);
    streams_.kernels.device().download(loss_sum_, &host_loss_, streams_.compute);
    weights_.synchronize();
}

StepResult Trainer::gradients(const StepBatch& batch) {
    queue_batch(batch);
    weights_.finish_gradients(ops_);
    finish_loss();
    return read_result(batch);
}

TokenLosses Trainer::losses(const StepBatch& batch) {
    mark(Phase::evaluation);
    weights_.fp8().begin_step(streams_.kernels, streams_.compute);
    queue_zero({loss_sum_});
    host_losses_.resize(batch.micro_batches.size());
    for (std::size_t i = 0; i < batch.micro_batches.size(); ++i) {
        upload(batch.micro_batches[i]);
        host_losses_[i].resize(batch.micro_batches[i].targets.size());
        model_.queue_loss(batch.micro_batches[i].runs, loss_sum_, host_losses_[i].data());
    }
    finish_loss();
    StepResult unused;
    take_times(unused);  // they are not the next step's
    ops_.take_flops();
    return {host_loss_, std::move(host_losses_)};
}

}  // namespace rm
