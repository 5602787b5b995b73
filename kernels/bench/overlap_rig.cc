#include "kernels/bench/overlap_rig.h"

#include <barrier>
#include <thread>

#include "base/random.h"
#include "engine/comm/transport.h"
#include "engine/train/rank_engine.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm::bench {
namespace {

constexpr std::int64_t kTile = 512;

std::vector<Sample> random_samples(const OverlapRig& rig) {
    Rng rng(1);
    std::vector<Sample> samples(static_cast<std::size_t>(rig.mesh.size(Axis::data)));
    for (Sample& sample : samples) {
        sample.documents = {rig.context};
        for (std::int64_t i = 0; i <= rig.context; ++i) {
            const auto vocabulary = static_cast<std::uint64_t>(rig.model.vocabulary);
            sample.tokens.push_back(static_cast<std::int32_t>(rng.below(vocabulary)));
        }
    }
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
        PassTimers& ring = model.ring_exposed();
        PassTimers& gather = engine_.weights().gather_exposed();
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
    const int num_ranks = rig.mesh.num_ranks();
    const auto hub = make_local_hub(num_ranks, {Seconds{rig.delay}});
    const auto num_steps = static_cast<std::size_t>(rig.repeats) + 1;
    std::vector<std::vector<StepTimes>> by_step(
        num_steps, std::vector<StepTimes>(static_cast<std::size_t>(num_ranks)));
    std::barrier together(num_ranks);
    const auto run_rank = [&](int rank) {
        const auto index = static_cast<std::size_t>(rank);
        Rank state(rig, make_local_transport(hub, {.rank = rank,
                                                   .num_ranks = num_ranks,
                                                   .peers = peers_of(rig.mesh)[index]}));
        for (std::vector<StepTimes>& step : by_step) {
            together.arrive_and_wait();
            step[index] = state.pass();
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < num_ranks; ++rank)
        threads.emplace_back(run_rank, rank);
    for (std::thread& thread : threads)
        thread.join();
    std::vector<StepTimes> steps;
    for (std::size_t step = 1; step < num_steps; ++step)
        steps.push_back(mean(by_step[step]));
    return steps;
}

}  // namespace rm::bench
