// Trains, with the real ring-train, on ring 2 x ulysses 2 x tensor 2 with ZeRO-3, within a tenth of
// the device memory that whole layers take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/main/ring_train_config.h"
#include "engine/train/dry_rank.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 8;
constexpr std::string_view kWindows = R"("windows": "on", "keep": "input", "alpha": 0)";
constexpr std::string_view kWhole =
    R"("offload": "on", "windows": "off", "keep": "input", "alpha": 0)";

class LongContextOnAMesh : public testing::Test {
protected:
    LongContextOnAMesh() {
        for (std::uint64_t i = 0; i < 200; ++i)
            dir_.write(format("data/{}.txt", i), test::some_text(i, 300));
    }
    // `policy` lists the keys of `memory` other than its sizes.
    std::string config(std::string_view policy) const {
        return format(
            R"({{"name": "mesh", "model": {{"preset": "micro"}},
                "memory": {{"tile": 128, "chunk": 128, {}}},
                "parallel": {{"ring": 2, "ulysses": 2, "tensor": 2, "zero": 3}},
                "stages": [{{"context": 262144, "batch": 262144, "tokens": 262144}}],
                "data": {{"path": "{}", "documents": "separate"}},
                "engine": {{"run_dir": "{}", "threads_per_rank": 1,
                           "model": {{"vocabulary": 257, "hidden": 32, "num_layers": 2,
                                     "num_query_heads": 4, "num_kv_heads": 4, "head_dim": 8,
                                     "feed_forward": 64}}}}}})",
            policy, dir_.file("data"), dir_.file("run"));
    }
    std::string limited(std::string_view policy, Bytes device) const {
        return config(format(R"({}, "device": "{}")", policy, exact_text(device)));
    }
    test::Finished train(const std::string& config) {
        dir_.write("config.json", config);
        return test::run_program(RM_RING_TRAIN, dir_.file("config.json"));
    }
    TempDir dir_;
};

// All that the rank that takes most holds of its device: weights, gradients, moments, buffers of
// gathered weights, scratch and the arena.
Bytes device_total(const std::string& text) {
    const RingTrainConfig config = parse_ring_train_config(text).value();
    RankSpec spec;
    spec.model = *config.model;
    spec.mesh = config.mesh();
    spec.zero = config.spec.zero;
    const auto kernels = make_cpu_kernels({.num_threads = 1});
    const StageShape shape{config.spec.stages[0].context, resolve_memory(config.spec.memory),
                           spec.model.rope};
    Bytes most;
    for (spec.rank = 0; spec.rank < kRanks; ++spec.rank) {
        const StageArenas arenas = plan_arenas(spec, shape, *kernels).value();
        DryRank rank(spec, {.types = kernels->types(), .like = kernels.get()});
        RM_CHECK(rank.enter(shape).ok(), "a shape that plan_arenas has taken");
        most = std::max(most, arenas.device.size + rank.held().device);
    }
    return most;
}

TEST_F(LongContextOnAMesh, TrainsInATenthOfTheDeviceThatWholeLayersTake) {
    const Bytes whole = device_total(config(kWhole)), windows = device_total(config(kWindows));
    std::cout << format("whole layers {}, windows {}\n", whole, windows);
    const Bytes limit{whole.value / 10};
    ASSERT_LE(windows, limit);

    const test::Finished refused = train(limited(kWhole, limit));
    EXPECT_EQ(refused.code, 3) << refused.output;
    EXPECT_THAT(refused.output, HasSubstr("memory.device"));

    // Every request is checked against the plan, and the plan against races.
    const test::Finished trained = train(limited(kWindows, limit));
    ASSERT_EQ(trained.code, 0) << trained.output;
    EXPECT_THAT(trained.output, HasSubstr("step 1/1"));
}

}  // namespace
}  // namespace rm
