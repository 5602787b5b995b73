// Trains, with the real ring-train, on a context far too long for the allowed device arena.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "engine/main/ring_train_config.h"
#include "engine/train/dry_rank.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kArenaLimit{4 << 20};
constexpr int kThreads = 1;  // each takes device workspace
constexpr std::string_view kWindows = R"("windows": "on", "alpha": 0.1)";
constexpr std::string_view kEverythingOnTheDevice = R"("offload": "off")";

class LongContext : public testing::Test {
protected:
    LongContext() { dir_.write("data/a.txt", test::some_text(1, 12'000)); }

    // `policy` lists the keys of `memory` other than its sizes.
    std::string config(std::string_view policy) const {
        return format(
            R"({{"name": "long", "model": {{"preset": "micro"}},
                "memory": {{"tile": 64, "chunk": 512, {}}},
                "stages": [{{"context": 16384, "batch": 16384, "tokens": 32768}}],
                "data": {{"path": "{}"}},
                "engine": {{"run_dir": "{}", "threads_per_rank": {},
                           "model": {{"vocabulary": 257, "hidden": 64, "num_layers": 6,
                                     "num_query_heads": 2, "num_kv_heads": 1, "head_dim": 16,
                                     "feed_forward": 256}}}}}})",
            policy, dir_.file("data"), dir_.file("run"), kThreads);
    }
    // Memory that a rank holds besides its arena does not count against kArenaLimit.
    std::string limited(std::string_view policy) const {
        return config(format(R"({}, "device": "{}")", policy, exact_text(device_limit())));
    }
    Bytes device_limit() const;
    test::Finished train(const std::string& config) {
        dir_.write("config.json", config);
        return test::run_program(RM_RING_TRAIN, dir_.file("config.json"));
    }
    TempDir dir_;
};

struct Needs {
    Bytes device;
    Bytes host;
    Bytes state;  // the rest: weights, gradients, two moments, and weights prepared for products
};

Needs needs_of(const std::string& text) {
    const RingTrainConfig config = parse_ring_train_config(text).value();
    RankSpec spec;
    spec.model = *config.model;
    const auto kernels = make_cpu_kernels({.num_threads = kThreads});
    const StageShape shape{config.spec.stages[0].context, resolve_memory(config.spec.memory),
                           spec.model.rope};
    const StageArenas arenas = plan_arenas(spec, shape, *kernels).value();
    DryRank rank(spec, {.types = kernels->types(), .like = kernels.get()});
    RM_CHECK(rank.enter(shape).ok(), "a shape that plan_arenas has taken");
    return {arenas.device.size, arenas.host.size, rank.held().device};
}

Bytes LongContext::device_limit() const {
    return kArenaLimit + needs_of(config(kWindows)).state;
}

// Returns the peak memory of the largest child process so far.
Bytes peak_of_children() {
    rusage usage{};
    RM_CHECK(getrusage(RUSAGE_CHILDREN, &usage) == 0, "no resource usage of children");
    return {usage.ru_maxrss * 1024};
}

TEST_F(LongContext, TrainsInASixthOfTheArenaThatItNeedsOnTheDevice) {
    const Needs on_device = needs_of(config(kEverythingOnTheDevice));
    ASSERT_GE(on_device.device.value, 6 * kArenaLimit.value);
    const test::Finished refused = train(limited(kEverythingOnTheDevice));
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.output,
                HasSubstr(format("memory.device: {} is not enough", exact_text(device_limit()))));
    EXPECT_THAT(refused.output, HasSubstr("the nearest takes "));

    const test::Finished trained = train(limited(kWindows));
    ASSERT_EQ(trained.code, 0) << trained.output;
    EXPECT_THAT(trained.output, HasSubstr("step 2/2"));
    const Needs needs = needs_of(limited(kWindows));
    const Bytes bound = needs.device + needs.host + needs.state + Bytes{200'000'000};
    const Bytes peak = peak_of_children();
    std::cout << format("device {}, with windows {} and {} on the host, state {}, peak {}\n",
                        on_device.device, needs.device, needs.host, needs.state, peak);
    EXPECT_LE(peak, bound);
    // The allowance is too small to hide the memory needed without windows.
    EXPECT_LT(bound, on_device.device + needs.state);
}

}  // namespace
}  // namespace rm
