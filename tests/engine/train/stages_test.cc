// The things that a stage may change besides its context: positions, base, optimizer.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/checkpoint/directory.h"
#include "engine/train/save/trained_model.h"
#include "tests/engine/train/run_rank_fixture.h"

namespace rm {
namespace {

using test::checkpoint_bytes;
using test::TrainRun;
using testing::Contains;
using testing::HasSubstr;

class Stages : public test::RunRank {
protected:
    Stages() {
        config_.spec.evaluation.tokens = 0;
        config_.spec.stages = {
            {.context = 128, .batch = 256, .tokens = 6 * 256, .learning_rate = 3e-3},
            {.context = 256, .batch = 512, .tokens = 6 * 512, .learning_rate = 3e-3}};
    }
    TrainRun train_well() {
        TrainRun run = train();
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        return run;
    }
    RopeConfig trained_rope(int step) const {
        std::vector<std::string> notes;
        const auto checkpoint = open_newest(this->checkpoint("checkpoints", step), notes);
        return trained_model_of(checkpoint->state())->model.rope;
    }
};

TEST_F(Stages, StretchPositionsWithYarn) {
    const double plain = train_well().steps[6].loss;
    config_.checkpoint_dir = dir_.file("yarn");
    config_.spec.stages[1].rope = StageRope::yarn;
    const TrainRun run = train_well();
    EXPECT_NE(run.steps[6].loss, plain);
    EXPECT_NEAR(run.steps[6].loss, plain, 0.5);
    EXPECT_THAT(run.notes, Contains("stage 2: rope yarn, base 10000, factor 2 over 128 tokens"));
    config_.checkpoint_dir = dir_.file("checkpoints");
    std::vector<std::string> notes;
    const auto newest = open_newest(dir_.file("yarn"), notes);
    const RopeConfig rope = trained_model_of(newest->state())->model.rope;
    EXPECT_EQ(rope.type, RopeType::yarn);
    EXPECT_EQ(rope.factor, 2);
    EXPECT_EQ(rope.original_context, 128);
    EXPECT_EQ(trained_rope(12).type, RopeType::standard);
    // A job that only evaluates takes it from the checkpoint.
    config_.spec.checkpoint.from = dir_.file("yarn");
    config_.spec.stages = {{.context = 256, .batch = 256, .tokens = 0}};
    config_.spec.evaluation.tokens = 4096;
    config_.checkpoint_dir.clear();
    const double loss = train_well().evaluations.at(0).loss;
    config_.spec.stages[0].rope = StageRope::yarn;
    config_.spec.stages[0].rope_factor = 2;
    EXPECT_NE(train_well().evaluations.at(0).loss, loss) << "over 256 tokens here, 128 there";
}

TEST_F(Stages, ChooseABaseForTheirContext) {
    config_.spec.stages[1].rope_theta = kAutoTheta;
    EXPECT_THAT(train_well().notes, Contains(HasSubstr("stage 2: rope default, base 22081.")));
    EXPECT_NEAR(trained_rope(12).theta, 10000 * std::pow(2, 16.0 / 14), 1e-6);
}

// A stage whose optimizer begins anew does what a job does that starts from its weights alone.
TEST_F(Stages, BeginTheOptimizerAnew) {
    for (const OptimizerPlace place : {OptimizerPlace::device, OptimizerPlace::host}) {
        config_.spec.optimizer.place = place;
        config_.checkpoint_dir.clear();
        config_.spec.stages[1].optimizer = StageOptimizer::goes_on;
        const TrainRun goes_on = train_well();
        config_.spec.stages[1].optimizer = StageOptimizer::anew;
        config_.checkpoint_dir = dir_.file(format("anew{}", static_cast<int>(place)));
        config_.spec.checkpoint.every_steps = 6;  // is written while the next stage begins
        const TrainRun anew = train_well();
        for (std::size_t i = 0; i < 7; ++i)
            EXPECT_EQ(anew.steps[i].loss, goes_on.steps[i].loss) << i;
        EXPECT_NE(anew.steps[7].loss, goes_on.steps[7].loss);
        // The first update of Adam moves each weight by the learning rate, whatever its gradient.
        // From the checkpoint at the boundary all goes the same way.
        std::filesystem::remove_all(config_.checkpoint_dir + "/e1-s12");
        const TrainRun resumed = train_well();
        ASSERT_EQ(resumed.steps.size(), 6u);
        for (std::size_t i = 0; i < 6; ++i)
            EXPECT_EQ(resumed.steps[i].loss, anew.steps[i + 6].loss) << i;
    }
}

TEST_F(Stages, EndARunThatDivergesWhereTheJobSaysSo) {
    config_.spec.stages[0].learning_rate = 30;
    config_.checkpoint_dir.clear();
    const TrainRun warned = train();
    ASSERT_EQ(warned.steps.size(), 12u) << "the run goes on";
    EXPECT_TRUE(has_diverged(warned.steps[5]));
    config_.spec.optimizer.divergence = Divergence::stop;
    const TrainRun stopped = train();
    ASSERT_FALSE(stopped.outcome.ok());
    EXPECT_EQ(stopped.outcome.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(stopped.outcome.error().message,
                HasSubstr("optimizer.divergence: the run has diverged: the loss of step "));
    EXPECT_LT(stopped.steps.size(), 12u);
    EXPECT_TRUE(has_diverged(stopped.steps.back()));
}

}  // namespace
}  // namespace rm
