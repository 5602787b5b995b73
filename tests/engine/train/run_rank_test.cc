#include "engine/run/run_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "engine/hf/directory.h"
#include "tests/engine/train/run_rank_fixture.h"

namespace rm {
namespace {

using test::checkpoint_bytes;
using test::run_training;
using test::some_text;
using test::TrainRun;
using testing::Contains;
using testing::HasSubstr;

using test::expect_mean_of_positions;
using test::RunRank;

TEST_F(RunRank, LearnsAndReportsTheHeldOutLossBesideTheTextsEntropies) {
    config_.run_dir = dir_.file("run");
    const TrainRun run = train();
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    ASSERT_EQ(run.steps.size(), 20u);
    EXPECT_LT(run.steps.back().loss, run.steps.front().loss - 1);
    ASSERT_EQ(run.evaluations.size(), 1u);
    EXPECT_GT(run.evaluations[0].unigram_entropy, run.evaluations[0].bigram_entropy);
    EXPECT_GT(run.evaluations[0].targets, 0);
    expect_mean_of_positions(run.evaluations[0]);
    EXPECT_TRUE(std::filesystem::exists(dir_.file("run/metrics.jsonl")));
}

TEST_F(RunRank, SaysWhomItsCommunicatorShiftsTo) {
    using Rings = std::map<std::string, RingNeighbours>;
    config_.spec.stages[0].tokens = config_.spec.stages[0].batch;
    set_mesh(1, 4);
    EXPECT_EQ(train().connected.rings, (Rings{{"ring", {.sends_to = 1, .receives_from = 3}}}));
    config_.checkpoint_dir.clear();
    config_.plan.mesh = Mesh::make(1, 4, 1, 1, 2).value();
    EXPECT_EQ(train().connected.rings, (Rings{{"ring_inner", {1, 1}}, {"ring_outer", {2, 2}}}));
    set_mesh(2, 1);
    const ConnectedReport report = train().connected;
    EXPECT_TRUE(report.rings.empty());
    EXPECT_TRUE(report.peers.empty()) << "of a transport between threads";
}

TEST_F(RunRank, SavingAtStepTenAndResumingEqualsTwentyStraightStepsBitForBit) {
    struct Case {
        int data, ring;
        const char* precision;
    };
    for (const auto& [data, ring, precision] :
         {Case{1, 1, "fp32"}, {1, 2, "fp32"}, {2, 2, "fp32"}, {1, 2, "bf16"}}) {
        set_mesh(data, ring);
        config_.spec.precision = precision;
        config_.checkpoint_dir = dir_.file("straight");
        config_.stop_after_steps = 0;
        ASSERT_TRUE(train().outcome.ok());
        const auto straight = checkpoint_bytes(checkpoint("straight", 20));
        config_.checkpoint_dir = dir_.file("resumed");
        config_.stop_after_steps = 10;
        const TrainRun first = train();
        ASSERT_TRUE(first.outcome.ok());
        EXPECT_EQ(*first.outcome, RankOutcome::stopped);
        EXPECT_EQ(first.steps.size(), 10u);
        config_.stop_after_steps = 0;
        const TrainRun second = train();
        EXPECT_EQ(second.steps.size(), 10u);
        EXPECT_EQ(second.steps.front().step, 11);
        EXPECT_EQ(checkpoint_bytes(checkpoint("resumed", 20)), straight);
        std::filesystem::remove_all(dir_.file("straight"));
        std::filesystem::remove_all(dir_.file("resumed"));
    }
}

TEST_F(RunRank, CheckpointsWrittenDuringTheNextStepChangeNoBit) {
    ASSERT_TRUE(train().outcome.ok());
    const auto without = checkpoint_bytes(checkpoint("checkpoints", 20));
    config_.checkpoint_dir = dir_.file("every-step");
    config_.spec.checkpoint = {"", 1, 30};
    const TrainRun run = train();
    ASSERT_TRUE(run.outcome.ok());
    EXPECT_EQ(run.checkpoints.size(), 20u);
    EXPECT_EQ(checkpoint_bytes(checkpoint("every-step", 20)), without);
    // A run that continues saves the same checkpoint as a run that stops at that step.
    config_.checkpoint_dir = dir_.file("stopped");
    config_.stop_after_steps = 7;
    ASSERT_TRUE(train().outcome.ok());
    EXPECT_EQ(checkpoint_bytes(checkpoint("every-step", 7)),
              checkpoint_bytes(checkpoint("stopped", 7)));
}

// A run dies at a write, sync, rename or removal; the next run always ends as if nothing had
// happened. (checkpoint_test dies at each of them; this test takes the first few and some later
// ones.)
TEST_F(RunRank, SurvivesADeathInTheMiddleOfACheckpoint) {
    config_.spec.checkpoint = {"", 2, 1};
    config_.spec.stages[0].tokens = 5 * 256;
    config_.checkpoint_dir = dir_.file("straight");
    ASSERT_TRUE(train().outcome.ok());
    const auto straight = checkpoint_bytes(checkpoint("straight", 5));
    const auto dies = [&](const std::string& fault) {
        Faults faults(Faults::parse(fault).value());
        try {
            return !run_training(config_, test::cpu_backend(1), &faults).outcome.ok();
        } catch (const std::exception&) {
            return true;
        }
    };
    for (const char* point : {"create", "write", "fsync", "rename", "remove"}) {
        int deaths = 0;
        for (int n = 1;; n += 1 + n / 2) {
            const std::string name = format("{}-{}", point, n);
            config_.checkpoint_dir = dir_.file(name);
            if (!dies(format("checkpoint.{}@{}", point, n))) break;
            ++deaths;
            const TrainRun again = train();
            ASSERT_TRUE(again.outcome.ok()) << name << ": " << again.outcome.error().message;
            EXPECT_EQ(checkpoint_bytes(checkpoint(name, 5)), straight) << name;
        }
        EXPECT_GE(deaths, 2) << point;
    }
}

TEST_F(RunRank, TwoStagesResumeInsideEither) {
    config_.spec.stages = {
        {.context = 128, .batch = 256, .tokens = 6 * 256, .learning_rate = 3e-3, .warmup_steps = 2},
        {.context = 256,
         .batch = 512,
         .tokens = 6 * 512,
         .rope_theta = 50000,
         .learning_rate = 1e-3,
         .schedule = Schedule::cosine}};
    config_.checkpoint_dir = dir_.file("straight");
    const TrainRun straight = train();
    ASSERT_TRUE(straight.outcome.ok());
    EXPECT_EQ(straight.stages_done, (std::vector<std::pair<int, std::int64_t>>{{0, 6}, {1, 12}}));
    EXPECT_EQ(straight.steps[6].tokens, 512);
    const auto expected = checkpoint_bytes(checkpoint("straight", 12));
    for (const std::int64_t stop : {3, 6, 9}) {
        const std::string name = format("resumed-{}", stop);
        config_.checkpoint_dir = dir_.file(name);
        config_.stop_after_steps = stop;
        ASSERT_TRUE(train().outcome.ok());
        config_.stop_after_steps = 0;
        ASSERT_TRUE(train().outcome.ok());
        EXPECT_EQ(checkpoint_bytes(checkpoint(name, 12)), expected) << "stopped at " << stop;
    }
}

// Every rank of the mesh writes its shards; otherwise the checkpoint would not be whole.
TEST_F(RunRank, MakesCheckpointsByTheClockOfRank0WhereNoStepsAreGiven) {
    config_.spec.checkpoint.keep = 30;
    config_.spec.checkpoint.every = Seconds{1e-9};
    set_mesh(2, 2);
    TrainRun run = train();
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_EQ(run.checkpoints.size(), 20u);
    config_.checkpoint_dir = dir_.file("by-default");
    config_.spec.checkpoint.every = CheckpointSpec().every;
    run = train();
    EXPECT_EQ(run.checkpoints.size(), 1u) << "ten minutes have not passed";
    EXPECT_EQ(checkpoint_bytes(checkpoint("by-default", 20)),
              checkpoint_bytes(checkpoint("checkpoints", 20)));
}

// Returns the master weights of a checkpoint and of a directory, by name.
std::map<std::string, std::string> exported_bytes(const std::string& path) {
    std::map<std::string, std::string> contents;
    const auto file = SafetensorsFile::open(path + "/model.safetensors");
    EXPECT_TRUE(file.ok()) << file.error().message;
    for (const SafetensorsEntry& entry : file->header().entries) {
        std::string& bytes = contents[entry.name];
        bytes.resize(static_cast<std::size_t>(entry.end - entry.begin));
        EXPECT_TRUE(file->read(entry, 0, std::as_writable_bytes(std::span(bytes))).ok());
    }
    return contents;
}

TEST_F(RunRank, ExportsWhatTheLastCheckpointHoldsWithTheLastStagesRope) {
    config_.spec.exports.huggingface = dir_.file("trained");
    config_.spec.stages.push_back({.context = 256, .batch = 512, .tokens = 512, .rope_theta = 5e4});
    const TrainRun run = train();
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_THAT(run.notes, Contains(HasSubstr("exported to " + dir_.file("trained") + " as F32")));
    auto saved = checkpoint_bytes(checkpoint("checkpoints", 21));
    const auto exported = exported_bytes(dir_.file("trained"));
    EXPECT_EQ(exported.size() * 3 + 1, saved.size());  // moments and the state besides
    for (const auto& [name, bytes] : exported)
        EXPECT_EQ(bytes, saved[name]) << name;
    const auto directory = HfDirectory::open(dir_.file("trained"));
    ASSERT_TRUE(directory.ok()) << directory.error().message;
    EXPECT_EQ(directory->model().rope, RopeConfig{.theta = 5e4});
    EXPECT_EQ(directory->model().max_positions, 256);
    // A retry exports again even if training was complete.
    std::filesystem::remove_all(dir_.file("trained"));
    ASSERT_TRUE(train().outcome.ok());
    EXPECT_EQ(exported_bytes(dir_.file("trained")), exported);
}

// Gives the listed answers, one per question; repeats the last one.
class Answers final : public PublishGuard {
public:
    explicit Answers(std::vector<Status> answers) : answers_(std::move(answers)) {}
    Status may_publish(Seconds /*limit*/) override {
        const Status answer = answers_.front();
        if (answers_.size() > 1) answers_.erase(answers_.begin());
        return answer;
    }

private:
    std::vector<Status> answers_;
};

TEST_F(RunRank, AnExportWaitsForItsLeaveAndIsLeftOutWhenRefused) {
    const std::string target = dir_.file("exports/trained");
    config_.spec.exports.huggingface = target;
    config_.spec.stages[0].tokens = 256;
    const auto train_with = [&](Answers guard) {
        return run_training(config_, test::cpu_backend(1), nullptr, &guard);
    };
    const auto others_aside = [&] {
        return std::distance(std::filesystem::directory_iterator(dir_.file("exports")), {}) -
               (std::filesystem::exists(target) ? 1 : 0);
    };
    const Error away = make_error(ErrorCode::unavailable, "away");
    const Error newer = make_error(ErrorCode::failed_precondition, "epoch 1 is not the newest");
    const TrainRun refused = train_with(Answers({away, newer}));
    ASSERT_TRUE(refused.outcome.ok()) << refused.outcome.error().message;
    EXPECT_EQ(*refused.outcome, RankOutcome::stopped);
    EXPECT_THAT(refused.notes, Contains(HasSubstr("not exported to " + target + ": epoch 1 is")));
    EXPECT_FALSE(std::filesystem::exists(target));
    EXPECT_EQ(others_aside(), 0);

    std::filesystem::create_directories(dir_.file("exports/.tmp-export-trained-e1"));
    config_.epoch = {3};
    const TrainRun allowed = train_with(Answers({away, away, Status()}));
    ASSERT_TRUE(allowed.outcome.ok()) << allowed.outcome.error().message;
    EXPECT_EQ(*allowed.outcome, RankOutcome::finished);
    EXPECT_TRUE(HfDirectory::open(target).ok());
    EXPECT_EQ(others_aside(), 0) << "what a dead attempt left is gone";
}

TEST_F(RunRank, BeginsFromAnotherJobsCheckpointAndGoesOnBitForBit) {
    ASSERT_TRUE(train().outcome.ok());
    const auto straight = checkpoint_bytes(checkpoint("checkpoints", 20));
    config_.checkpoint_dir = dir_.file("first");
    config_.stop_after_steps = 10;
    ASSERT_TRUE(train().outcome.ok());
    const std::string from = checkpoint("first", 10);
    config_.stop_after_steps = 0;
    config_.spec.checkpoint.from = from;
    config_.checkpoint_dir = dir_.file("second");
    const TrainRun second = train();
    ASSERT_TRUE(second.outcome.ok()) << second.outcome.error().message;
    EXPECT_EQ(second.steps.front().step, 11);
    EXPECT_THAT(second.notes, Contains(HasSubstr("resumed from " + from + " at step 10")));
    EXPECT_EQ(checkpoint_bytes(checkpoint("second", 20)), straight);

    // On another mesh it equals a resume of the same directory on that mesh.
    set_mesh(2, 2);
    config_.checkpoint_dir = dir_.file("third");
    ASSERT_TRUE(train().outcome.ok());
    const auto third = checkpoint_bytes(checkpoint("third", 20));
    config_.checkpoint_dir = dir_.file("first");
    config_.spec.checkpoint.from.clear();
    ASSERT_TRUE(train().outcome.ok());
    EXPECT_EQ(checkpoint_bytes(checkpoint("first", 20)), third);

    // The run prefers its own checkpoints, and nothing is left to train.
    config_.spec.checkpoint.from = dir_.file("nowhere");
    const TrainRun again = train();
    ASSERT_TRUE(again.outcome.ok()) << again.outcome.error().message;
    EXPECT_TRUE(again.steps.empty());
}

TEST_F(RunRank, ACheckpointThatCannotBeBegunFromIsNamedWithTheReason) {
    config_.spec.checkpoint.from = dir_.file("nowhere/e1-s5");
    EXPECT_THAT(train().outcome.error().message,
                testing::AllOf(HasSubstr("checkpoint.from " + dir_.file("nowhere/e1-s5") + ": "),
                               HasSubstr("No such file")));
    config_.spec.checkpoint.from.clear();
    config_.stop_after_steps = 3;
    ASSERT_TRUE(train().outcome.ok());
    config_.spec.checkpoint.from = checkpoint("checkpoints", 3);
    config_.checkpoint_dir = dir_.file("second");
    config_.spec.seed = 2;
    EXPECT_THAT(train().outcome.error().message,
                testing::AllOf(HasSubstr("checkpoint.from " + checkpoint("checkpoints", 3) + ": "),
                               HasSubstr("seed 1, the job has 2")));
}

TEST_F(RunRank, StartsFromADirectoryWhereTheOtherRunEnded) {
    config_.spec.exports.huggingface = dir_.file("trained");
    const TrainRun first = train();
    ASSERT_TRUE(first.outcome.ok()) << first.outcome.error().message;
    config_.spec.model = {"", dir_.file("trained")};
    config_.spec.exports.huggingface.clear();
    config_.spec.stages[0].tokens = 256;
    config_.spec.stages[0].learning_rate = 1e-12;  // the held-out loss is that of the directory
    config_.checkpoint_dir = dir_.file("second");
    const TrainRun second = train();
    ASSERT_TRUE(second.outcome.ok()) << second.outcome.error().message;
    EXPECT_THAT(second.notes, Contains(HasSubstr("started from " + dir_.file("trained"))));
    EXPECT_NEAR(second.evaluations[0].loss, first.evaluations[0].loss, 1e-6);
}

TEST_F(RunRank, ADirectoryThatCannotBeReadIsAnErrorWithItsPath) {
    config_.spec.model = {"", dir_.file("nowhere")};
    EXPECT_THAT(train().outcome.error().message,
                HasSubstr("model.from: cannot open " + dir_.file("nowhere/config.json")));
    ModelConfig words = find_preset("micro").value();
    words.vocabulary = 256;
    words.max_positions = 128;
    dir_.write("small/config.json", make_hf_config(words, {}, "float32").dump());
    config_.spec.model.from = dir_.file("small");
    EXPECT_THAT(train().outcome.error().message, HasSubstr("the model's vocabulary is 256"));
    words.vocabulary = 300;
    dir_.write("small/config.json", make_hf_config(words, {}, "float32").dump());
    EXPECT_THAT(train().outcome.error().message, HasSubstr("neither model.safetensors nor"));
}

TEST_F(RunRank, UsesThePreviousCheckpointWhenTheNewestIsTornAndSaysSo) {
    config_.spec.checkpoint = {"", 5, 3};
    config_.stop_after_steps = 10;
    ASSERT_TRUE(train().outcome.ok());
    const std::string torn = checkpoint("checkpoints", 10) + "/shard-00001-of-00002.safetensors";
    std::filesystem::resize_file(torn, std::filesystem::file_size(torn) / 2);
    config_.stop_after_steps = 0;
    const TrainRun run = train();
    ASSERT_TRUE(run.outcome.ok());
    EXPECT_EQ(run.steps.front().step, 6);
    EXPECT_THAT(run.alarms, Contains(HasSubstr("e1-s10 skipped")));
}

TEST_F(RunRank, SavedOnOneMeshTheStateIsTheSameOnAnother) {
    config_.stop_after_steps = 10;
    ASSERT_TRUE(train().outcome.ok());
    const auto saved = checkpoint_bytes(checkpoint("checkpoints", 10));
    set_mesh(3, 1);
    config_.epoch = {2};
    config_.spec.stages[0].tokens = 10 * 256;  // nothing left to train
    config_.stop_after_steps = 0;
    const TrainRun run = train();
    ASSERT_TRUE(run.outcome.ok());
    EXPECT_TRUE(run.steps.empty());
    EXPECT_EQ(checkpoint_bytes(checkpoint("checkpoints", 10)), saved);
}

TEST_F(RunRank, AFailedWriteLeavesThePreviousCheckpointAndSaysWhy) {
    config_.spec.checkpoint = {"", 5, 3};
    config_.stop_after_steps = 5;
    ASSERT_TRUE(train().outcome.ok());
    const auto good = checkpoint_bytes(checkpoint("checkpoints", 5));
    config_.stop_after_steps = 0;
    Faults faults(Faults::parse("checkpoint.rename@1").value());
    try {
        const TrainRun run = run_training(config_, test::cpu_backend(1), &faults);
        EXPECT_FALSE(run.outcome.ok());
    } catch (const InjectedFault&) {
    }
    EXPECT_EQ(checkpoint_bytes(checkpoint("checkpoints", 5)), good);
}

TEST_F(RunRank, RefusesToResumeWithOtherDataOrSeed) {
    config_.stop_after_steps = 3;
    ASSERT_TRUE(train().outcome.ok());
    config_.spec.seed = 2;
    EXPECT_THAT(train().outcome.error().message, HasSubstr("seed 1, the job has 2"));
    config_.spec.seed = 1;
    dir_.write("data/0.txt", "something else entirely");
    EXPECT_FALSE(train().outcome.ok());
}

TEST_F(RunRank, MissingAndEmptyDataAreErrorsThatNameThePath) {
    config_.spec.data.sources = {{dir_.file("nowhere")}};
    EXPECT_THAT(train().outcome.error().message, HasSubstr("nowhere"));
    std::filesystem::create_directories(dir_.file("empty"));
    config_.spec.data.sources = {{dir_.file("empty")}};
    EXPECT_THAT(train().outcome.error().message, HasSubstr("empty"));
}

// The rank process turns these codes into exit codes (worker/rank/exit_class.h).
TEST_F(RunRank, TellsWhatIsMissingFromMemoryAndFromDisks) {
    const RankConfig good = config_;
    const auto code = [&](Faults* faults = nullptr) {
        const TrainRun run = run_training(config_, test::cpu_backend(1), faults);
        config_ = good;
        return run.outcome ? ErrorCode::unknown : run.outcome.error().code;
    };
    config_.spec.data.sources = {{dir_.file("nowhere")}};
    EXPECT_EQ(code(), ErrorCode::not_found);
    config_.spec.data.tokenizer = dir_.file("no-tokenizer.json");
    EXPECT_EQ(code(), ErrorCode::not_found);
    dir_.write("tokenizer.json", "{}");
    config_.spec.data.tokenizer = dir_.file("tokenizer.json");
    EXPECT_EQ(code(), ErrorCode::data_loss);
    config_.plan.memory.device = Bytes{1000};
    EXPECT_EQ(code(), ErrorCode::resource_exhausted);
    Faults full(Faults::parse("checkpoint.full").value());
    EXPECT_EQ(code(&full), ErrorCode::unavailable);
}

TEST_F(RunRank, DataShorterThanAContextIsAnErrorWithBothSizes) {
    config_.spec.stages[0].context = config_.spec.stages[0].batch = 1 << 20;
    config_.spec.stages[0].tokens = 1 << 20;
    EXPECT_THAT(train().outcome.error().message, HasSubstr("1048577"));
}

TEST_F(RunRank, AContextTooShortForTheMeshIsAnErrorWithTheNearest) {
    set_mesh(1, 5);
    EXPECT_THAT(train().outcome.error().message, HasSubstr("context 128 is too short for ring 5"));
}

TEST_F(RunRank, ALostPeerEndsTheOthersWithItsName) {
    set_mesh(1, 2);
    Faults faults(Faults::parse("trainer.step@7").value());
    EXPECT_THROW(run_training(config_, test::cpu_backend(1), &faults), std::runtime_error);
}

}  // namespace
}  // namespace rm
