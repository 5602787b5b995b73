// A checkpoint that is exported later, on another machine.
#include "engine/train/save/checkpoint_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "engine/hf/directory.h"
#include "engine/train/rank_config.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

std::map<std::string, std::string> files_of(const std::string& directory) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        if (!entry.is_regular_file()) continue;
        std::ostringstream bytes;
        bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
        files[fs::relative(entry.path(), directory).string()] = bytes.str();
    }
    return files;
}

// Trains two stages, the second with another rotary base, and saves after each ten steps.
class ExportOfACheckpoint : public testing::Test {
protected:
    ExportOfACheckpoint() {
        for (int i = 0; i < 8; ++i) {
            dir_.write(format("data/{}.txt", i),
                       test::some_text(static_cast<std::uint64_t>(i), 600));
        }
        config_ = test::micro_run(dir_.file("data"), 128, 20);
        config_.spec.stages.push_back(
            {.context = 256, .batch = 512, .tokens = 512, .rope_theta = 5e4});
        config_.spec.checkpoint.every_steps = 10;
        config_.spec.checkpoint.keep = 8;
        config_.checkpoint_dir = dir_.file("checkpoints");
        config_.spec.exports.huggingface = dir_.file("by-the-job");
        config_.plan.mesh = Mesh::make(1, 2, 1, 2).value();
    }
    void train() {
        const auto run =
            test::run_training(config_, test::cpu_backend(1, compute_type(config_.spec)));
        ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    }
    Result<ExportedCheckpoint> to_later(CheckpointExport what) {
        what.path = dir_.file("later");
        return export_checkpoint(what, activity_, faults_);
    }

    TempDir dir_;
    RankConfig config_;
    Activity activity_;
    Faults faults_;
};

TEST_F(ExportOfACheckpoint, HasTheBytesThatTheJobExports) {
    for (const std::string precision : {"fp32", "bf16"}) {
        SCOPED_TRACE(precision);
        fs::remove_all(dir_.file("checkpoints"));
        config_.spec.precision = precision;
        train();
        const auto exported = to_later({.checkpoint = dir_.file("checkpoints")});
        ASSERT_TRUE(exported.ok()) << exported.error().message;
        EXPECT_EQ(exported->checkpoint, dir_.file("checkpoints/e1-s21"));
        EXPECT_EQ(to_string(exported->dtype), precision == "bf16" ? "BF16" : "F32");
        EXPECT_EQ(files_of(dir_.file("later")), files_of(dir_.file("by-the-job")));
        EXPECT_FALSE(fs::exists(dir_.file(".tmp-export-later-e1")));
    }
}

// At step 20 the second stage has not begun.
TEST_F(ExportOfACheckpoint, HasTheRotaryEmbeddingOfTheStageThatTrainedIt) {
    train();
    for (const auto& [step, theta, context] :
         {std::tuple{10, 10000.0, 128}, {20, 10000.0, 128}, {21, 5e4, 256}}) {
        const auto exported =
            to_later({.checkpoint = dir_.file(format("checkpoints/e1-s{}", step))});
        ASSERT_TRUE(exported.ok()) << exported.error().message;
        const auto directory = HfDirectory::open(dir_.file("later"));
        ASSERT_TRUE(directory.ok()) << directory.error().message;
        EXPECT_EQ(directory->model().rope.theta, theta) << step;
        EXPECT_EQ(directory->model().max_positions, context) << step;
    }
}

TEST_F(ExportOfACheckpoint, PassesOverADamagedCheckpointAndSaysSo) {
    train();
    fs::remove(dir_.file("checkpoints/e1-s21/shard-00001-of-00004.safetensors"));
    const auto exported = to_later({.checkpoint = dir_.file("checkpoints")});
    ASSERT_TRUE(exported.ok()) << exported.error().message;
    EXPECT_EQ(exported->checkpoint, dir_.file("checkpoints/e1-s20"));
    EXPECT_THAT(exported->notes, Contains(HasSubstr("checkpoint e1-s21 skipped")));
}

// Flipped bits are found as the weights are read, and nothing is left behind.
TEST_F(ExportOfACheckpoint, WritesNothingOfADamagedFile) {
    train();
    const std::string path = dir_.file("checkpoints/e1-s21/shard-00000-of-00004.safetensors");
    std::string bytes =
        files_of(dir_.file("checkpoints/e1-s21"))["shard-00000-of-00004.safetensors"];
    for (std::size_t at = bytes.size() / 4; at < bytes.size(); at += 64)
        bytes[at] ^= 0x10;
    std::ofstream(path, std::ios::binary) << bytes;
    const auto exported = to_later({.checkpoint = dir_.file("checkpoints/e1-s21")});
    ASSERT_FALSE(exported.ok());
    EXPECT_EQ(exported.error().code, ErrorCode::data_loss);
    EXPECT_THAT(exported.error().message, HasSubstr("shard-00000-of-00004.safetensors"));
    EXPECT_FALSE(fs::exists(dir_.file("later")));
    EXPECT_FALSE(fs::exists(dir_.file(".tmp-export-later-e1")));
}

TEST_F(ExportOfACheckpoint, LeavesNothingWhenItIsCancelled) {
    train();
    activity_.cancelled = true;
    const auto exported = to_later({.checkpoint = dir_.file("checkpoints")});
    ASSERT_FALSE(exported.ok());
    EXPECT_EQ(exported.error().code, ErrorCode::cancelled);
    EXPECT_FALSE(fs::exists(dir_.file("later")));
    EXPECT_FALSE(fs::exists(dir_.file(".tmp-export-later-e1")));
}

TEST_F(ExportOfACheckpoint, AsksForATokenizerThatIsNotHere) {
    train();
    CheckpointExport what{.checkpoint = dir_.file("checkpoints")};
    what.tokenizer = "/nowhere/tokenizer.json";
    const auto refused = to_later(what);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
    EXPECT_THAT(refused.error().message, HasSubstr("/nowhere/tokenizer.json, which is not here"));
    what.tokenizer = "none";
    EXPECT_TRUE(to_later(what).ok());
    dir_.write("tok/tokenizer.json", "{}");
    what.tokenizer = dir_.file("tok");
    ASSERT_TRUE(to_later(what).ok());
    EXPECT_EQ(files_of(dir_.file("later"))["tokenizer.json"], "{}");
    EXPECT_EQ(to_later({.checkpoint = dir_.file("data")}).error().code, ErrorCode::not_found);
}

TEST_F(ExportOfACheckpoint, GoesWithoutADirectoryThatTheModelStartedFrom) {
    train();
    config_.spec.exports = {};
    config_.spec.stages.resize(1);
    config_.spec.model = {.from = dir_.file("by-the-job")};
    config_.checkpoint_dir = dir_.file("second");
    config_.model.reset();
    dir_.write("by-the-job/LICENSE", "free");
    train();
    const CheckpointExport second{.checkpoint = dir_.file("second")};
    auto exported = to_later(second);
    ASSERT_TRUE(exported.ok()) << exported.error().message;
    EXPECT_EQ(files_of(dir_.file("later"))["LICENSE"], "free");
    fs::rename(dir_.file("by-the-job"), dir_.file("moved"));
    exported = to_later(second);
    ASSERT_TRUE(exported.ok()) << exported.error().message;
    EXPECT_THAT(exported->notes, Contains(HasSubstr("which the model started from, is not here")));
    EXPECT_FALSE(files_of(dir_.file("later")).contains("LICENSE"));
    CheckpointExport moved = second;
    moved.base = dir_.file("moved");
    ASSERT_TRUE(to_later(moved).ok());
    EXPECT_EQ(files_of(dir_.file("later"))["LICENSE"], "free");
}

TEST(TrainedModel, OfAnEarlierBuildHasTheModelsOwnRotaryEmbedding) {
    const ModelConfig model = test::small_model();
    nlohmann::json state = {{"model", model_config_to_json(model)}};
    const auto trained = trained_model_of(state);
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    EXPECT_EQ(trained->model, model);
    EXPECT_EQ(trained->context, 0);
    state["trained"] = {{"context", 5}};
    EXPECT_THAT(trained_model_of(state).error().message, HasSubstr("trained.rope is missing"));
    EXPECT_EQ(trained_model_of(nlohmann::json::object()).error().code, ErrorCode::data_loss);
}

}  // namespace
}  // namespace rm
