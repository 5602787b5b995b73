// A run that stops and resumes under another memory policy, or with its state elsewhere, ends with
// the bits of an uninterrupted run.
#include <gtest/gtest.h>

#include "engine/run/run_rank.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

struct Part {
    MemoryPolicy memory;
    OptimizerPlace place = OptimizerPlace::device;
};

constexpr std::int64_t kTile = 64;

Part on_device() {
    return {{.tile_tokens = kTile, .chunk_tokens = 2 * kTile}};
}
Part on_host() {
    Part part = on_device();
    part.memory.kept = KeptPlace::host;
    part.memory.keep = Keep::input;
    part.memory.alpha = 0.3;
    return part;
}
Part in_windows() {
    Part part = on_device();
    part.memory.kept = KeptPlace::host;
    part.memory.working = WorkingSet::windows;
    part.memory.alpha = 0.3;
    part.memory.chunk_tokens = kTile;
    return part;
}
Part updated_on_host(Part part) {
    part.place = OptimizerPlace::host;
    return part;
}

constexpr int kSteps = 6;
constexpr int kStepsOfAPart = 2;

class PolicyResume : public testing::Test {
protected:
    PolicyResume() {
        for (int i = 0; i < 8; ++i)
            dir_.write(format("data/{}.txt", i), test::some_text(static_cast<unsigned>(i), 600));
        config_ = test::micro_run(dir_.file("data"), 512, kSteps);
        config_.spec.memory.tile = kTile;
    }

    // Each part resumes where the previous one stopped and trains some steps.
    void train(const std::string& run, const std::vector<Part>& parts) {
        for (const Part& part : parts) {
            RankConfig config = config_;
            config.plan.memory = part.memory;
            config.spec.optimizer.place = part.place;
            config.checkpoint_dir = dir_.file(run);
            config.stop_after_steps = parts.size() == 1 ? 0 : kStepsOfAPart;
            const test::TrainRun trained =
                test::run_training(config, test::cpu_backend(1, compute_type(config.spec)));
            ASSERT_TRUE(trained.outcome.ok()) << trained.outcome.error().message;
            ASSERT_EQ(trained.steps.size(), parts.size() == 1 ? kSteps : kStepsOfAPart);
        }
    }
    std::map<std::string, std::string> end_of(const std::string& run) const {
        return test::checkpoint_bytes(format("{}/e1-s{}", dir_.file(run), kSteps));
    }

    TempDir dir_;
    RankConfig config_;
};

TEST_F(PolicyResume, ChangesNoBitOfARunOnOneRank) {
    // A single rank sums several micro-batches differently on the host and on the device.
    config_.spec.stages[0].batch = 512;
    config_.spec.stages[0].tokens = kSteps * 512;
    config_.plan.mesh = Mesh();
    train("straight", {on_device()});
    const std::vector<std::vector<Part>> orders = {
        {on_device(), in_windows(), on_host()},
        {in_windows(), on_host(), on_device()},
        {on_host(), updated_on_host(in_windows()), updated_on_host(on_device())},
        {updated_on_host(in_windows()), on_device(), updated_on_host(on_host())},
    };
    for (std::size_t i = 0; i < orders.size(); ++i) {
        const std::string run = format("order{}", i);
        train(run, orders[i]);
        EXPECT_TRUE(end_of(run) == end_of("straight")) << run;
    }
}

TEST_F(PolicyResume, ChangesNoBitOfARunOnAMesh) {
    config_.plan.mesh = Mesh::make(1, 2, 2, 1).value();
    config_.plan.zero = 3;
    config_.spec.precision = "bf16";
    train("straight", {on_device()});
    train("resumed", {on_host(), updated_on_host(on_device()), updated_on_host(on_host())});
    EXPECT_TRUE(end_of("resumed") == end_of("straight"));
}

// The scales of the next step are in the checkpoint. The second stage, which begins where a part
// ends, has other gradients and finds its own.
TEST_F(PolicyResume, ChangesNoBitOfARunInFp8) {
    StageSpec second = config_.spec.stages[0];
    config_.spec.stages[0].tokens = kStepsOfAPart * second.batch;
    second.batch *= 2;
    second.tokens = (kSteps - kStepsOfAPart) * second.batch;
    config_.spec.stages.push_back(second);
    config_.spec.precision = "fp8";
    config_.spec.fp8 = {.recipe = Fp8Recipe::delayed, .bf16_layers = 0, .fallback_steps = 0};
    config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    train("straight", {on_device()});
    train("resumed", {in_windows(), on_device(), on_host()});
    EXPECT_TRUE(end_of("resumed") == end_of("straight"));
}

}  // namespace
}  // namespace rm
