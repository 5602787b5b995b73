// The dry run of a context in windows took time and memory quadratic in its chunks: 155 s and 19 GB
// for 2,048 of them and a model of 119,232 parameters, on every rank at its start.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "engine/dry_run/predict.h"
#include "engine/train/dry_rank.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm {
namespace {

constexpr Bytes kMostMemory{std::int64_t{1} << 30};
constexpr double kMostSeconds = 30;  // it takes well below one

struct Job {
    RankSpec spec;
    StageShape shape;
};

Job sixteen_million_tokens() {
    Job job;
    job.spec.model = find_preset("micro").value();
    job.shape.context = std::int64_t{16} << 20;
    job.shape.rope = job.spec.model.rope;
    job.shape.memory.kept = KeptPlace::host;
    job.shape.memory.working = WorkingSet::windows;
    return job;
}

Bytes most_resident() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {usage.ru_maxrss * 1024};
}

template <typename Work>
void expect_cheap(Work work) {
    const SystemClock clock;
    const MonoTime begin = clock.mono();
    work();
    EXPECT_LT((clock.mono() - begin).value, kMostSeconds);
    EXPECT_LT(most_resident(), kMostMemory);
}

TEST(LongDryRun, OfFourThousandChunksIsCheap) {
    const Job job = sixteen_million_tokens();
    const DeviceProfile profile = published_profiles().front();
    expect_cheap([&] {
        const auto prediction = predict(job.spec, job.shape, {.profile = &profile});
        ASSERT_TRUE(prediction) << prediction.error().message;
        // Every chunk's keys and values, for every later chunk of queries.
        EXPECT_GT(prediction->moved.at("uploaded"), Bytes{std::int64_t{1} << 40});
    });
}

TEST(LongDryRun, AtTheStartOfARankIsCheap) {
    const Job job = sixteen_million_tokens();
    const auto like = make_cpu_kernels({.num_threads = 1});
    expect_cheap([&] {
        const auto arenas = plan_arenas(job.spec, job.shape, *like);
        ASSERT_TRUE(arenas) << arenas.error().message;
        EXPECT_GT(arenas->host.size, Bytes{std::int64_t{16} << 30});
    });
}

}  // namespace
}  // namespace rm
