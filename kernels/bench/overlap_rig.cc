#include "kernels/bench/overlap_rig.h"

#include "kernels/bench/ranks.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm::bench {
namespace {

constexpr std::int64_t kTile = 512;

std::vector<Sample> random_samples(const OverlapRig& rig) {
    Rng rng(1);
    std::vector<Sample> samples(static_cast<std::size_t>(rig.mesh.size(Axis::data)));
    for (Sample& sample : samples)
        sample = random_sample(rng, rig.context, rig.model.vocabulary);
    return samples;
}

class Rank {
public:
    Rank(const OverlapRig& rig, std::unique_ptr<Transport> transport)
        : transport_(std::move(transport)),
          kernels_(make_cpu_kernels({.num_threads = 1})),
          engine_(
              *kernels_, *transport_, progress_,
              {.model = rig.model, .mesh = rig.mesh, .rank = transport_->rank(), .zero = rig.zero}),
          loss_(kernels_->device(), MemoryKind::data, DType::f64, {1}) {
        engine_.state().initialize(1);
        const Status entered = engine_.enter(
            {rig.context, {.tile_tokens = kTile, .chunk_tokens = kTile}, rig.model.rope});
        RM_CHECK(entered.ok(), "{}", entered.error().message);
        batch_ = engine_.cut(random_samples(rig));
    }

    // A micro-batch in the middle of a step.
    StepTimes pass() {
        Model& model = engine_.model();
        Stream& compute = engine_.streams().compute;
        const MicroBatch& micro = batch_.micro_batches.at(0);
        kernels_->device().upload(micro.tokens.data(), model.tokens(), compute);
        kernels_->device().upload(micro.targets.data(), model.targets(), compute);
        model.queue_loss_and_gradients(micro.runs, 1e-3, loss_, Accumulate::more);
        engine_.streams().communication.synchronize();
        compute.synchronize();
        return take();
    }

private:
    StepTimes take() {
        Model& model = engine_.model();
        ModelTimers& timers = model.timers();
        LayerPassTimers& ring = model.ring_exposed();
        LayerPassTimers& gather = engine_.weights().gather_exposed();
        return {{timers.forward.take(), timers.attention.forward.take(), ring.forward.take(),
                 gather.forward.take()},
                {timers.backward.take(), timers.attention.backward.take(), ring.backward.take(),
                 gather.backward.take(), engine_.weights().drain_exposed().take()}};
    }

    ProgressPage progress_{};
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<Kernels> kernels_;
    RankEngine engine_;
    Tensor loss_;
    StepBatch batch_;
};

void add(PassTimes& sum, const PassTimes& x, double share) {
    sum.all += share * x.all;
    sum.attention += share * x.attention;
    sum.ring += share * x.ring;
    sum.gather += share * x.gather;
    sum.reduce += share * x.reduce;
}

StepTimes mean(const std::vector<StepTimes>& ranks) {
    StepTimes sum;
    const double share = 1 / static_cast<double>(ranks.size());
    for (const StepTimes& rank : ranks) {
        add(sum.forward, rank.forward, share);
        add(sum.backward, rank.backward, share);
    }
    return sum;
}

}  // namespace

std::vector<StepTimes> run_rig(const OverlapRig& rig) {
    const auto num_ranks = static_cast<std::size_t>(rig.mesh.num_ranks());
    std::vector<std::vector<StepTimes>> by_step(static_cast<std::size_t>(rig.repeats) + 1,
                                                std::vector<StepTimes>(num_ranks));
    run_ranks(
        rig.mesh, {Seconds{rig.delay}}, rig.repeats + 1,
        [&](std::unique_ptr<Transport> transport) { return Rank(rig, std::move(transport)); },
        [&](std::size_t index, Rank& rank, int step) {
            by_step[static_cast<std::size_t>(step)][index] = rank.pass();
        });
    std::vector<StepTimes> steps;
    for (std::size_t step = 1; step < by_step.size(); ++step)
        steps.push_back(mean(by_step[step]));
    return steps;
}

}  // namespace rm::bench
