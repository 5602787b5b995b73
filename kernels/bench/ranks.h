#pragma once

#include <barrier>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/comm/transport.h"
#include "engine/train/rank_engine.h"

// Ranks that are threads of this process, for commands that train.
namespace rm::bench {

// One document that fills the context.
inline Sample random_sample(Rng& rng, std::int64_t context, std::int64_t vocabulary) {
    Sample sample{.documents = {context}};
    for (std::int64_t i = 0; i <= context; ++i) {
        const std::uint64_t token = rng.below(static_cast<std::uint64_t>(vocabulary));
        sample.tokens.push_back(static_cast<std::int32_t>(token));
    }
    return sample;
}

// Each rank is made by make(transport); then step(number, rank, i) is called num_steps times, which
// all ranks begin together.
template <typename Make, typename Step>
void run_ranks(const Mesh& mesh, const LocalLinks& links, int num_steps, const Make& make,
               const Step& step) {
    const int num_ranks = mesh.num_ranks();
    const auto hub = make_local_hub(num_ranks, links);
    std::barrier together(num_ranks);
    const auto run_rank = [&](int number) {
        const auto index = static_cast<std::size_t>(number);
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
