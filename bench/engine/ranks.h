#pragma once

#include <barrier>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/comm/transport/transport.h"
#include "engine/train/rank_engine.h"

// Ranks that are threads of this process, for commands that train.
namespace rm::bench {

// A rank that trains on random tokens: every sample is one document. Borrows its kernels.
class TrainingRank {
public:
    TrainingRank(Kernels& kernels, std::unique_ptr<Transport> transport, RankSpec spec,
                 const StageShape& shape)
        : transport_(std::move(transport)),
          engine_(kernels, *transport_, progress_, with_rank(spec, transport_->rank())) {
        engine_.state().initialize(1);
        const Status entered = engine_.enter(shape);
        RM_CHECK(entered.ok(), "{}", entered.error().message);
        Rng rng(1);
        std::vector<Sample> samples(usize(spec.mesh.size(Axis::data)));
        for (Sample& sample : samples)
            sample = random_sample(rng, shape.context, spec.model.vocabulary);
        batch_ = engine_.cut(samples);
    }

    StepResult step() {
        const OptimizerStep optimizer{.learning_rate = 1e-4, .step = ++num_steps_};
        StepResult result = engine_.trainer().step(batch_, optimizer, Trainer::Wish::none);
        RM_CHECK(result.finite, "step {} is not finite", num_steps_);
        return result;
    }
    RankEngine& engine() { return engine_; }
    const StepBatch& batch() const { return batch_; }

private:
    static RankSpec with_rank(RankSpec spec, int rank) {
        spec.rank = rank;
        return spec;
    }
    static Sample random_sample(Rng& rng, std::int64_t context, std::int64_t vocabulary) {
        Sample sample{.documents = {context}};
        for (std::int64_t i = 0; i <= context; ++i) {
            const std::uint64_t token = rng.below(static_cast<std::uint64_t>(vocabulary));
            sample.tokens.push_back(static_cast<std::int32_t>(token));
        }
        return sample;
    }

    ProgressPage progress_{};
    std::unique_ptr<Transport> transport_;
    RankEngine engine_;
    StepBatch batch_;
    std::int64_t num_steps_ = 0;
};

// Each rank is made by make(transport); then step(number, rank, i) is called num_steps times, which
// all ranks begin together.
template <typename Make, typename Step>
void run_ranks(const Mesh& mesh, const LocalLinks& links, int num_steps, const Make& make,
               const Step& step) {
    const int num_ranks = mesh.num_ranks();
    const auto hub = make_local_hub(num_ranks, links);
    std::barrier together(num_ranks);
    const auto run_rank = [&](int number) {
        const auto index = usize(number);
        auto rank = make(make_local_transport(
            hub, {.rank = number, .num_ranks = num_ranks, .peers = peers_of(mesh)[index]}));
        for (int i = 0; i < num_steps; ++i) {
            together.arrive_and_wait();
            step(index, rank, i);
        }
    };
    std::vector<std::thread> threads;
    for (int number = 0; number < num_ranks; ++number)
        threads.emplace_back(run_rank, number);
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace rm::bench
