// The figures of step reports, against what the dry run records and what the run does.
#include <gtest/gtest.h>

#include "engine/dry_run/predict.h"
#include "engine/train/rank_config.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

constexpr std::int64_t kTile = 64;
constexpr double kPeak = 1e9;  // of a rank

struct Policy {
    std::string name;
    MemoryPolicy memory;
};

std::vector<Policy> policies() {
    MemoryPolicy all{.tile_tokens = kTile, .chunk_tokens = 2 * kTile};
    MemoryPolicy none = all;
    none.alpha = 0;
    MemoryPolicy inputs = all;
    inputs.keep = Keep::input;
    inputs.alpha = 0;
    MemoryPolicy half = inputs;
    half.kept = KeptPlace::host;
    half.alpha = 0.5;
    MemoryPolicy windows = inputs;
    windows.kept = KeptPlace::host;
    windows.working = WorkingSet::windows;
    return {{"all kept", all},
            {"attention kept", none},
            {"inputs kept", inputs},
            {"half kept on the host", half},
            {"windows", windows}};
}

class ReportFigures : public testing::Test {
protected:
    ReportFigures() {
        for (int i = 0; i < 8; ++i)
            dir_.write(format("data/{}.txt", i), test::some_text(static_cast<unsigned>(i), 600));
    }
    RankConfig config_of(const MemoryPolicy& memory, std::int64_t num_steps) const {
        RankConfig config = test::micro_run(dir_.file("data"), 512, num_steps);
        config.plan.mesh = Mesh::make(1, 2, 1, 1).value();
        config.plan.memory = memory;
        config.peak_flops = kPeak;
        return config;
    }
    static test::TrainRun run(const RankConfig& config) {
        test::TrainRun run = test::run_training(config, test::cpu_backend(1));
        RM_CHECK(run.outcome.ok(), "{}", run.outcome.error().message);
        return run;
    }
    static Prediction predicted(const RankConfig& config, int rank) {
        const auto kernels = test::cpu_backend(1)();
        RankSpec spec;
        spec.model = resolve_model(config.spec, config.model).value();
        spec.mesh = config.plan.mesh;
        spec.rank = rank;
        DryRunOptions options{.types = kernels->types(), .like = kernels.get()};
        options.micro_batches = config.spec.stages[0].sequences_per_step();
        const StageShape shape{config.spec.stages[0].context, config.plan.memory, spec.model.rope};
        return predict(spec, shape, options).value();
    }

    const TempDir dir_;
};

// Evaluations run between the steps, and must not count.
TEST_F(ReportFigures, HfuCountsTheProductsThatTheScheduleRecords) {
    double least = 0;
    for (const Policy& policy : policies()) {
        RankConfig config = config_of(policy.memory, 3);
        config.spec.evaluation.every_steps = 1;
        const double recorded =
            predicted(config, 0).executed_flops + predicted(config, 1).executed_flops;
        for (const StepReport& step : run(config).steps) {
            const double executed = step.hfu * step.seconds * kPeak * 2;
            EXPECT_NEAR(executed / recorded, 1, 1e-9) << policy.name << ", step " << step.step;
            EXPECT_GT(step.hfu, step.causal_mfu) << policy.name;
        }
        if (least == 0) least = recorded;
        EXPECT_TRUE(policy.name == "all kept" || recorded > 1.05 * least) << policy.name;
    }
}

TEST_F(ReportFigures, TransfersAreThoseThatTheScheduleRecords) {
    for (const Policy& policy : policies()) {
        const RankConfig config = config_of(policy.memory, 2);
        auto moved = predicted(config, 0).moved;
        const StepReport step = run(config).steps.back();
        // The dry run also records a step's inputs and a few numbers.
        const std::int64_t inputs = 2 * config.spec.stages[0].batch / 2 * 4 + 256;
        EXPECT_LE(step.h2d_bytes, moved["uploaded"].value) << policy.name;
        EXPECT_GE(step.h2d_bytes, moved["uploaded"].value - inputs) << policy.name;
        EXPECT_LE(step.d2h_bytes, moved["downloaded"].value) << policy.name;
        EXPECT_GE(step.d2h_bytes, moved["downloaded"].value - inputs) << policy.name;
        const bool offloads = policy.memory.kept == KeptPlace::host;
        EXPECT_EQ(step.h2d_bytes > 0, offloads) << policy.name;
        EXPECT_EQ(step.d2h_bytes > 0, offloads) << policy.name;
    }
}

class CheckpointFigures : public ReportFigures {
protected:
    RankConfig config_of_steps(std::int64_t num_steps) const {
        RankConfig config = config_of(policies()[0].memory, num_steps);
        config.checkpoint_dir = dir_.file("checkpoints");
        config.spec.checkpoint.every_steps = 2;
        return config;
    }
    static std::vector<std::int64_t> due_steps(const test::TrainRun& run) {
        std::vector<std::int64_t> due;
        for (const StepReport& step : run.steps)
            due.push_back(step.checkpoint_due_step);
        return due;
    }
};

// That of a step is published after the step after it.
TEST_F(CheckpointFigures, SayAfterWhichStepTheNextIsDue) {
    const test::TrainRun all = run(config_of_steps(6));
    EXPECT_EQ(due_steps(all), (std::vector<std::int64_t>{2, 2, 2, 4, 4, 6}));
    EXPECT_EQ(all.steps[0].checkpoint_seconds, 0);
    EXPECT_GT(all.steps[2].checkpoint_seconds, 0) << "beginning that of step 2";
    EXPECT_GT(all.steps[3].checkpoint_seconds, 0) << "publishing it";
}

TEST_F(CheckpointFigures, SayThatOneIsLateWhileNoneCanBeWritten) {
    RankConfig config = config_of_steps(6);
    Faults faults({{"checkpoint.full", 1}});
    const test::TrainRun all = test::run_training(config, test::cpu_backend(1), &faults);
    ASSERT_TRUE(all.outcome.ok()) << all.outcome.error().message;
    ASSERT_EQ(all.alarms.size(), 1u);
    EXPECT_EQ(due_steps(all), (std::vector<std::int64_t>{2, 2, 2, 2, 2, 6}));
}

TEST_F(CheckpointFigures, AreNotThereWithoutADirectory) {
    const test::TrainRun all = run(config_of(policies()[0].memory, 3));
    EXPECT_EQ(due_steps(all), (std::vector<std::int64_t>{0, 0, 0}));
}

TEST_F(CheckpointFigures, SayHowLongTheRunReadOne) {
    RankConfig config = config_of_steps(6);
    config.stop_after_steps = 3;
    const test::TrainRun first = run(config);
    EXPECT_EQ(first.steps.front().loading_seconds, 0) << "there was nothing to read";
    const test::TrainRun second = run(config_of_steps(6));
    ASSERT_EQ(second.steps.front().step, 4);
    EXPECT_GT(second.steps.front().loading_seconds, 0);
    EXPECT_EQ(second.steps.back().loading_seconds, 0);
}

}  // namespace
}  // namespace rm
