// Whole runs on every kind of data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "engine/data/tokens/megatron_writer.h"
#include "engine/run/run_rank.h"
#include "spec/model_preset.h"
#include "spec/report.h"
#include "tests/support/bpe_trainer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using test::checkpoint_bytes;
using test::some_text;
using test::TrainRun;
using testing::Contains;
using testing::HasSubstr;

class RunRankData : public testing::Test {
protected:
    RunRankData() {
        for (std::uint64_t i = 0; i < 8; ++i) {
            dir_.write(format("text/{}.txt", i), some_text(i, 400));
            lines_ += nlohmann::json{{"text", some_text(100 + i, 200)}}.dump() + "\n";
        }
        dir_.write("lines/a.jsonl", lines_);
        config_ = test::micro_run(dir_.file("text"), 128, 12);
        config_.spec.data.format = "auto";
        config_.spec.evaluation = {0, 512};
        set_mesh(1, 1);
    }
    void set_mesh(int data, int ring) { config_.plan.mesh = Mesh::make(data, ring, 1, 1).value(); }
    TrainRun train(const std::string& checkpoints, std::int64_t stop_after = 0) {
        config_.checkpoint_dir = dir_.file(checkpoints);
        config_.stop_after_steps = stop_after;
        TrainRun run = test::run_training(config_, test::cpu_backend(1));
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        return run;
    }
    std::map<std::string, std::string> state(const std::string& checkpoints, int step) const {
        return checkpoint_bytes(format("{}/e1-s{}", dir_.file(checkpoints), step));
    }

    TempDir dir_;
    std::string lines_;
    RankConfig config_;
};

TEST_F(RunRankData, AMixResumesBitForBitAndTrainsTheSameOnEveryMesh) {
    config_.spec.data.sources = {{dir_.file("text"), 0.7}, {dir_.file("lines"), 0.3}};
    const TrainRun straight = train("straight");
    EXPECT_THAT(straight.notes, Contains(HasSubstr("8 lines of JSON in 1 file,")));
    EXPECT_THAT(straight.notes, Contains(HasSubstr("30.0% of the samples")));
    train("resumed", 5);
    train("resumed");
    EXPECT_EQ(state("resumed", 12), state("straight", 12));
    const auto data = nlohmann::json::parse(state("straight", 12)["state"])["data"];
    EXPECT_EQ(data["sources"].size(), 2u);
    for (const auto& [data_ranks, ring] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
        set_mesh(data_ranks, ring);
        const std::string name = format("mesh{}{}", data_ranks, ring);
        const TrainRun run = train(name);
        EXPECT_EQ(nlohmann::json::parse(state(name, 12)["state"])["data"], data);
        EXPECT_NEAR(run.steps.back().loss, straight.steps.back().loss, 1e-4);
    }
}

TEST_F(RunRankData, RefusesToResumeWithOtherProportions) {
    config_.spec.data.sources = {{dir_.file("text"), 0.7}, {dir_.file("lines"), 0.3}};
    train("checkpoints", 5);
    config_.spec.data.sources = {{dir_.file("text"), 0.6}, {dir_.file("lines"), 0.4}};
    config_.stop_after_steps = 0;
    const TrainRun run = test::run_training(config_, test::cpu_backend(1));
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message, HasSubstr("the proportions were others"));
}

TEST_F(RunRankData, TokensOfATokenizerAreNotCalledBytes) {
    dir_.write("tok/tokenizer.json", test::train_tokenizer(some_text(1, 1000), {.num_merges = 30}));
    config_.spec.data.sources = {{dir_.file("text")}};
    config_.spec.data.tokenizer = dir_.file("tok");
    config_.model = find_preset("micro").value();
    config_.model->vocabulary = 288;
    config_.spec.stages[0].context = 64;
    const TrainRun run = train("");
    EXPECT_LT(run.steps.back().loss, run.steps.front().loss - 1);
    EXPECT_THAT(run.notes, Contains(HasSubstr("encoded by")));
    ASSERT_EQ(run.evaluations.size(), 1u);
    EXPECT_EQ(run.evaluations[0].unigram_entropy, 0);
    EXPECT_THAT(evaluation_line(run.evaluations[0]),
                HasSubstr("nats/token on 512 held-out tokens"));
}

TEST_F(RunRankData, AnIdBeyondTheVocabularyEndsTheRunWithItsName) {
    auto writer = MegatronWriter::create(dir_.file("set"), 1000).value();
    ASSERT_TRUE(writer.add_document(std::vector<TokenId>(400, 7)));
    ASSERT_TRUE(writer.add_document(std::vector<TokenId>(400, 600)));
    ASSERT_TRUE(writer.finish());
    config_.spec.data.sources = {{dir_.file("set")}};
    config_.spec.data.holdout = 0;
    const TrainRun run = test::run_training(config_, test::cpu_backend(1));
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message, HasSubstr("set.bin: token 400 is 600"));
    EXPECT_THAT(run.outcome.error().message, HasSubstr("ids 0 to"));
}

}  // namespace
}  // namespace rm
