// Runs whole jobs on every axis at once: documents, evaluation, checkpoints, export.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using test::checkpoint_bytes;
using test::TrainRun;

class AxesRun : public testing::Test {
protected:
    AxesRun() {
        for (int i = 0; i < 12; ++i) {
            const auto seed = static_cast<std::uint64_t>(i);
            dir_.write(format("data/{}.txt", i), test::some_text(seed, 60 * (i + 1)));
        }
        config_ = test::micro_run(dir_.file("data"), 512, 6);
        config_.spec.data.documents = Documents::separate;
        config_.spec.evaluation = {0, 1024};
        every_axis();
    }
    void one_rank() {
        config_.plan.mesh = Mesh();
        config_.plan.zero = 0;
    }
    void every_axis() {
        config_.plan.mesh = Mesh::make(2, 2, 2, 2).value();
        config_.plan.zero = 3;
    }
    TrainRun train(const std::string& checkpoints) {
        config_.checkpoint_dir = dir_.file(checkpoints);
        TrainRun run =
            test::run_training(config_, test::cpu_backend(1, compute_type(config_.spec)));
        RM_CHECK(run.outcome.ok(), "{}", run.outcome.error().message);
        return run;
    }
    auto saved(const std::string& checkpoints, int step) const {
        return checkpoint_bytes(format("{}/e1-s{}", dir_.file(checkpoints), step));
    }
    std::string exported(const std::string& name) {
        std::ifstream in(dir_.file(name + "/model.safetensors"), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    TempDir dir_;
    RankConfig config_;
};

TEST_F(AxesRun, SeparateDocumentsTrainAndEvaluateAsOnOneRank) {
    const TrainRun many = train("many");
    one_rank();
    const TrainRun one = train("one");
    ASSERT_EQ(many.steps.size(), one.steps.size());
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
        EXPECT_NEAR(many.steps[i].loss, one.steps[i].loss, 1e-5 * one.steps[i].loss) << i;
        EXPECT_EQ(many.steps[i].model_flops, one.steps[i].model_flops) << i;
    }
    ASSERT_EQ(many.evaluations.size(), 1u);
    EXPECT_EQ(many.evaluations[0].targets, one.evaluations[0].targets);
    EXPECT_NEAR(many.evaluations[0].loss, one.evaluations[0].loss, 1e-5 * one.evaluations[0].loss);
    const auto& axes = many.steps.back().axes;
    for (const char* axis : {"ring", "ulysses", "tensor", "gradient", "world"})
        EXPECT_GT(axes.at(axis).bytes_sent, 0) << axis;
    EXPECT_TRUE(one.steps.back().axes.empty());
}

// A head of 16 numbers in bf16 is 16 codes and 4 bytes.
TEST_F(AxesRun, MessagesInFp8AreShorter) {
    config_.spec.precision = "bf16";
    const auto numbers = train("numbers").steps.back().axes;
    config_.spec.messages = {MessageNumbers::fp8, MessageNumbers::fp8};
    const auto codes = train("codes").steps.back().axes;
    const auto share = [&](const char* axis) {
        return static_cast<double>(codes.at(axis).bytes_sent) /
               static_cast<double>(numbers.at(axis).bytes_sent);
    };
    EXPECT_LT(share("ulysses"), 0.7);
    EXPECT_LT(share("tensor"), 0.85) << "sums are traded as they are";
    EXPECT_EQ(share("ring"), 1);
    EXPECT_EQ(share("gradient"), 1);
}

TEST_F(AxesRun, StoppingAndResumingChangesNoBit) {
    for (const char* precision : {"fp32", "bf16"}) {
        config_.spec.precision = precision;
        config_.spec.optimizer.moments = precision;
        config_.spec.optimizer.gradients = precision;
        train("straight");
        config_.stop_after_steps = 3;
        EXPECT_EQ(*train("resumed").outcome, RankOutcome::stopped);
        config_.stop_after_steps = 0;
        train("resumed");
        EXPECT_EQ(saved("resumed", 6), saved("straight", 6)) << precision;
        std::filesystem::remove_all(dir_.file("straight"));
        std::filesystem::remove_all(dir_.file("resumed"));
    }
}

TEST_F(AxesRun, AnotherMeshGoesOnFromItsCheckpoint) {
    config_.stop_after_steps = 3;
    train("checkpoints");
    config_.stop_after_steps = 0;
    one_rank();
    const TrainRun rest = train("checkpoints");
    ASSERT_EQ(rest.steps.size(), 3u);
    const TrainRun straight = train("straight");
    EXPECT_NEAR(rest.steps.back().loss, straight.steps.back().loss,
                1e-4 * straight.steps.back().loss);
}

// The export from shards must equal that of one rank that continues from the same checkpoint.
TEST_F(AxesRun, ExportsTheWeightsOfAllRanks) {
    config_.spec.exports.huggingface = dir_.file("from-many");
    train("checkpoints");
    one_rank();
    config_.spec.exports.huggingface = dir_.file("from-one");
    EXPECT_TRUE(train("checkpoints").steps.empty());
    ASSERT_FALSE(exported("from-one").empty());
    EXPECT_EQ(exported("from-many"), exported("from-one"));
}

TEST_F(AxesRun, StartsFromAnExportedDirectory) {
    one_rank();
    config_.spec.exports.huggingface = dir_.file("start");
    train("first");
    config_.spec.exports.huggingface.clear();
    config_.spec.model = {.preset = "", .from = dir_.file("start")};
    const TrainRun one = train("one");
    every_axis();
    const TrainRun many = train("many");
    EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-5 * one.steps[0].loss);
    EXPECT_LT(many.steps[0].loss, 4.5);
}

}  // namespace
}  // namespace rm
