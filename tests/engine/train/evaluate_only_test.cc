// A job without steps.
#include "tests/engine/train/run_rank_fixture.h"

namespace rm {
namespace {

using test::checkpoint_bytes;
using test::expect_mean_of_positions;
using test::some_text;
using test::TrainRun;

using EvaluateOnly = test::RunRank;

TEST_F(EvaluateOnly, ReadsACheckpointOnAnyMesh) {
    config_.spec.stages[0].rope_theta = 500;
    config_.spec.exports.huggingface = dir_.file("trained");
    ASSERT_TRUE(train().outcome.ok());
    const auto trained = checkpoint_bytes(checkpoint("checkpoints", 20));
    config_.spec.exports.huggingface.clear();
    config_.spec.stages[0].tokens = 0;
    config_.spec.checkpoint.from = dir_.file("checkpoints");
    config_.checkpoint_dir = dir_.file("evaluations");
    config_.spec.evaluation.tokens = 1 << 20;  // more than there are
    const auto evaluate = [&] {
        const TrainRun run = train();
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        EXPECT_TRUE(run.steps.empty() && run.checkpoints.empty());
        EXPECT_EQ(run.evaluations.size(), 1u);
        return run.evaluations.at(0);
    };
    // The checkpoint says with which base it was trained.
    const EvaluationReport alone = evaluate();
    EXPECT_EQ(alone.step, 0);
    EXPECT_GT(alone.targets, 4 * 512) << "all of the text, not what training holds out";
    expect_mean_of_positions(alone);
    config_.spec.stages[0].rope_theta = 500;
    EXPECT_EQ(evaluate().loss, alone.loss);
    config_.spec.stages[0].rope_theta = 10000;
    EXPECT_NE(evaluate().loss, alone.loss);
    config_.spec.stages[0].rope_theta = 0;

    for (const auto& [data, ring] : {std::pair{1, 2}, {2, 2}}) {
        set_mesh(data, ring);
        const EvaluationReport other = evaluate();
        EXPECT_EQ(other.targets, alone.targets);
        EXPECT_NEAR(other.loss, alone.loss, 1e-5);
    }
    config_.spec.checkpoint.from.clear();
    config_.spec.model = {"", dir_.file("trained")};
    EXPECT_NEAR(evaluate().loss, alone.loss, 1e-5);
    // A single document of one sample: nothing is held out of it.
    dir_.write("one/text.txt", some_text(1, 600).substr(0, 257));
    config_.spec.data.sources = {{dir_.file("one"), 0}};
    config_.spec.stages[0].context = config_.spec.stages[0].batch = 256;
    set_mesh(1, 2);
    EXPECT_EQ(evaluate().targets, 256);
    EXPECT_EQ(checkpoint_bytes(checkpoint("checkpoints", 20)), trained);
}

}  // namespace
}  // namespace rm
