// A run whose steps were not finite continued to its last step, replaced the earlier checkpoints
// with those of the exploded weights, exported these and reported success.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

// A learning rate beyond fp32: one update makes weights infinite, however a machine rounds. Weights
// that are large but finite can end in a finite loss, because a norm divides them by an infinite
// length.
constexpr double weights_are_infinite = 1e300;

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

class Regress0050 : public testing::Test {
protected:
    Regress0050() {
        for (int i = 0; i < 4; ++i)
            dir_.write(format("data/{}.txt", i),
                       test::some_text(static_cast<std::uint64_t>(i), 600));
        config_ = test::micro_run(dir_.file("data"), 128, 40);
        config_.spec.evaluation = {0, 512};
        config_.spec.exports.huggingface = dir_.file("model");
        config_.spec.checkpoint.every_steps = 5;
        config_.checkpoint_dir = dir_.file("checkpoints");
        config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    }
    test::TrainRun train(double learning_rate) {
        config_.spec.stages[0].learning_rate = learning_rate;
        return test::run_training(config_, test::cpu_backend(1, compute_type(config_.spec)));
    }
    bool there(const std::string& name) const { return std::filesystem::exists(dir_.file(name)); }

    TempDir dir_;
    RankConfig config_;
};

TEST_F(Regress0050, ARunWhoseStepsStayNonFiniteFailsAndLeavesWhatWasGood) {
    for (const char* precision : {"fp32", "bf16"}) {
        config_.spec.precision = precision;
        config_.stop_after_steps = 10;
        ASSERT_TRUE(train(3e-3).outcome.ok());
        config_.stop_after_steps = 0;
        const test::TrainRun run = train(weights_are_infinite);
        ASSERT_FALSE(run.outcome.ok());
        EXPECT_EQ(run.outcome.error().code, ErrorCode::invalid_argument);
        EXPECT_THAT(run.outcome.error().message,
                    AllOf(HasSubstr("steps 12 to 21 are not finite"),
                          HasSubstr("optimizer.max_skipped allows (10)"),
                          HasSubstr("learning rate 1e+300"), HasSubstr("last good step was 11"),
                          HasSubstr("the weight model."), HasSubstr("] is ")));
        EXPECT_EQ(run.steps.size(), 11u);
        EXPECT_TRUE(there("checkpoints/e1-s5"));
        EXPECT_TRUE(there("checkpoints/e1-s10"));
        EXPECT_FALSE(there("checkpoints/e1-s15"));
        EXPECT_FALSE(there("checkpoints/e1-s20"));
        EXPECT_FALSE(there("model"));
        std::filesystem::remove_all(config_.checkpoint_dir);
    }
}

// The step after the checkpoint is the first that sees what is in it.
TEST_F(Regress0050, ACheckpointOfWeightsThatExplodeInItIsGivenUp) {
    config_.stop_after_steps = 9;
    ASSERT_TRUE(train(3e-3).outcome.ok());
    config_.stop_after_steps = 0;
    EXPECT_FALSE(train(weights_are_infinite).outcome.ok());  // step 10 is the last good one and due
    EXPECT_TRUE(there("checkpoints/e1-s9"));
    EXPECT_FALSE(there("checkpoints/e1-s10"));
    EXPECT_FALSE(there("checkpoints/.tmp-e1-s10"));
}

TEST_F(Regress0050, TheBoundIsTheJobs) {
    config_.spec.optimizer.max_skipped = 3;
    const test::TrainRun run = train(weights_are_infinite);
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_EQ(run.steps.size(), 4u);
    EXPECT_THAT(run.outcome.error().message,
                AllOf(HasSubstr("steps 2 to 4 are not finite"), HasSubstr("the weight model."),
                      HasSubstr("] is ")));
}

// Too short to reach the bound.
TEST_F(Regress0050, AModelWhoseEvaluationIsNotFiniteIsNeitherSavedNorExported) {
    config_.spec.stages[0].tokens = 3 * config_.spec.stages[0].batch;
    const test::TrainRun run = train(weights_are_infinite);
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message, HasSubstr("held-out loss is not finite"));
    EXPECT_FALSE(there("checkpoints/e1-s3"));
    EXPECT_FALSE(there("model"));
}

TEST_F(Regress0050, AFiniteRunThatHasDivergedSaysSo) {
    const test::TrainRun diverged = train(1);
    ASSERT_TRUE(diverged.outcome.ok()) << diverged.outcome.error().message;
    EXPECT_TRUE(has_diverged(diverged.steps.back()));
    EXPECT_THAT(diverged.notes, Contains(HasSubstr("the run has diverged: the loss of step 40")));
    std::filesystem::remove_all(config_.checkpoint_dir);
    const test::TrainRun fine = train(3e-3);
    EXPECT_FALSE(has_diverged(fine.steps.back()));
    EXPECT_THAT(fine.notes, Each(Not(HasSubstr("diverged"))));
}

}  // namespace
}  // namespace rm
