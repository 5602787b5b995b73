#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "engine/main/ring_train_config.h"
#include "engine/train/rank_config.h"
#include "engine/train/save/train_position.h"
#include "tests/service/random_values.h"

namespace rm {
namespace {

using testing::HasSubstr;

TEST(RankConfig, SurvivesJson) {
    RankConfig config;
    config.spec.name = "x";
    config.spec.data.sources = {{"/data"}};
    config.spec.seed = 0xfedcba9876543210ULL;
    config.spec.stages = {
        {.context = 512, .batch = 1024, .tokens = 4096, .schedule = Schedule::linear}};
    config.spec.parallel = Mesh::make(2, 6, 2, 3, 2).value();
    config.spec.zero = 3;
    config.spec.data.documents = Documents::separate;
    config.spec.data.positions = Positions::running;
    config.spec.optimizer.moments = "bf16";
    config.spec.optimizer.gradients = "bf16";
    config.spec.optimizer.max_skipped = 3;
    config.spec.optimizer.place = OptimizerPlace::host;
    config.spec.checkpoint.from = "/ckpt/other/e1-s10";
    config.spec.retry = {.max = 1, .lost_after = Seconds{90}};
    config.spec.priority = -2;
    config.spec.memory = {.tile = 128,
                          .chunk = 256,
                          .keep = Keep::input,
                          .alpha = 1.0 / 3,
                          .offload = Switch::on,
                          .windows = Switch::off,
                          .prefetch = 0,
                          .arena = ArenaReuse::off,
                          .device = Bytes{std::int64_t{40} << 30},
                          .host = Bytes{(std::int64_t{1} << 53) + 1}};
    config.plan.memory = {.tile_tokens = 64,
                          .chunk_tokens = 192,
                          .keep = Keep::input,
                          .alpha = 1.0 / 7,
                          .kept = KeptPlace::host,
                          .working = WorkingSet::windows,
                          .prefetch = 3,
                          .reuse = ArenaReuse::off,
                          .device = Bytes{1000},
                          .host = Bytes{2000}};
    config.model = ModelConfig{.vocabulary = 9,
                               .hidden = 8,
                               .num_layers = 1,
                               .num_query_heads = 2,
                               .num_kv_heads = 1,
                               .head_dim = 4,
                               .feed_forward = 8,
                               .rope = {.type = RopeType::longrope,
                                        .theta = 5e5,
                                        .factor = 4,
                                        .original_context = 64,
                                        .short_factor = {1, 1.1},
                                        .long_factor = {1.5, 4}},
                               .max_positions = 256};
    config.plan.mesh = *config.spec.parallel;
    config.plan.zero = 3;
    config.rank = 5;
    config.run_dir = "/run";
    config.peak_flops = 1.5e11;
    const auto parsed = parse_rank_config(to_json(config));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->spec, config.spec);
    EXPECT_EQ(parsed->model, config.model);
    EXPECT_EQ(parsed->plan, config.plan);
    EXPECT_EQ(parsed->rank, 5);
    EXPECT_EQ(parsed->peak_flops, 1.5e11);
}

// A new member of JobSpec or Plan does not compile in random_values.h until that file fills it.
TEST(RankConfig, EveryFieldOfAJobSurvivesJson) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Rng rng(seed);
        RankConfig config;
        fill(rng, config.spec);
        for (DataSource& source : config.spec.data.sources)
            source.proportion = std::abs(source.proportion);
        fill(rng, config.plan);
        config.plan.placement.clear();  // of the controller alone
        const auto parsed = parse_rank_config(to_json(config));
        ASSERT_TRUE(parsed.ok()) << parsed.error().message;
        EXPECT_EQ(parsed->spec, config.spec) << "seed " << seed;
        EXPECT_EQ(parsed->plan, config.plan) << "seed " << seed;
    }
}

// Files written before 2026-11 use other names in some places.
TEST(RankConfig, ReadsTheNamesOfOlderFiles) {
    const auto spec = [](const char* text) {
        return job_spec_from_json(nlohmann::json::parse(text)).value();
    };
    EXPECT_EQ(spec(R"({"evaluation": {"every_steps": 7}})").evaluation.every_steps, 7);
    EXPECT_EQ(spec(R"({"evaluate": {"every_steps": 7}})").evaluation.every_steps, 7);
    EXPECT_FALSE(job_spec_from_json(nlohmann::json::parse(R"({"exports": {}})")));
}

TEST(RankConfig, AnAutomaticMeshStaysAutomaticWithItsZeroStage) {
    JobSpec spec;
    spec.zero = 2;
    EXPECT_EQ(job_spec_from_json(job_spec_to_json(spec)).value(), spec);
}

TEST(RankConfig, UnknownKeysAndWrongTypesAreErrorsWithTheirPath) {
    EXPECT_THAT(parse_rank_config(R"({"spec": {"stages": [{"contxt": 1}]}})").error().message,
                HasSubstr("stages[0].contxt: unknown key"));
    EXPECT_THAT(parse_rank_config(R"({"spec": {"data": {"path": 7}}})").error().message,
                HasSubstr("data.path: 7; texts such as"));
    EXPECT_THAT(parse_rank_config(R"({"spec": {"parallel": {"inner": 1}}})").error().message,
                HasSubstr("parallel.inner: unknown key"));
    EXPECT_THAT(parse_rank_config(R"({"spec": {"data": {"documents": "packed"}}})").error().message,
                HasSubstr("data.documents: documents 'packed' is not known; joined or separate"));
    EXPECT_THAT(parse_rank_config(R"({"spec": {"memory": {"device": "40GB"}}})").error().message,
                HasSubstr("memory.device: '40GB' is not a size"));
    EXPECT_THAT(parse_rank_config(R"({"spec": {"memory": {"device": 7}}})").error().message,
                HasSubstr("memory.device: "));
    EXPECT_THAT(parse_rank_config(R"({"spec": {"memory": {"windows": true}}})").error().message,
                HasSubstr("memory.windows: "));
    EXPECT_THAT(parse_rank_config(R"({"plan": {"memory": {"kept": "disk"}}})").error().message,
                HasSubstr("plan.memory.kept: kept 'disk' is not known; device or host"));
    EXPECT_THAT(parse_rank_config(R"({"plan": {"tile_tokens": 64}})").error().message,
                HasSubstr("plan.tile_tokens: unknown key"));
    EXPECT_THAT(parse_rank_config("{\n\n]").error().message, HasSubstr("line 3"));
}

TEST(RankConfig, AutomaticMemoryStaysAutomatic) {
    JobSpec spec;
    EXPECT_EQ(job_spec_from_json(job_spec_to_json(spec)).value(), spec);
    spec.memory.windows = Switch::on;
    EXPECT_EQ(job_spec_from_json(job_spec_to_json(spec)).value(), spec);
}

TEST(Reports, TheStepLineNamesConventionAndPeak) {
    StepReport report;
    report.step = 17;
    report.num_steps = 50;
    report.loss = 2.8113;
    report.grad_norm = 0.94;
    report.seconds = 0.412;
    report.tokens = 131072;
    report.causal_mfu = 0.461;
    report.memory.total = {1 << 30};
    report.axes["ring"].bytes_sent = 1 << 20;
    EXPECT_EQ(step_line(report),
              "step 17/50  loss 2.8113  grad 0.94  412 ms  318k tok/s  MFU 46.1%  mem 1.0 GiB  "
              "waits 0.0% "
              "(ring 0%)");
}

TEST(Schedule, WarmsUpAndEndsAtTheFinalRate) {
    StageSpec stage{.context = 10,
                    .batch = 10,
                    .tokens = 1000,
                    .learning_rate = 1,
                    .warmup_steps = 20,
                    .schedule = Schedule::cosine,
                    .final_learning_rate = 0.1};
    EXPECT_DOUBLE_EQ(learning_rate_at(stage, 10), 0.5);
    EXPECT_DOUBLE_EQ(learning_rate_at(stage, 20), 1);
    EXPECT_NEAR(learning_rate_at(stage, 60), 0.55, 1e-12);
    EXPECT_NEAR(learning_rate_at(stage, 100), 0.1, 1e-12);
    stage.schedule = Schedule::linear;
    EXPECT_NEAR(learning_rate_at(stage, 60), 0.55, 1e-12);
    stage.schedule = Schedule::constant;
    EXPECT_EQ(learning_rate_at(stage, 100), 1);
}

TEST(RingTrainConfig, DescribesTheZigzagLayout) {
    const auto config = parse_ring_train_config(R"({
        "name": "x", "model": {"preset": "tiny"}, "data": {"path": "/data"},
        "parallel": {"ring": 2, "zero": 3},
        "stages": [{"context": 1024, "batch": 1024, "tokens": 10240}]})");
    ASSERT_TRUE(config.ok()) << config.error().message;
    const auto text = describe_layout(*config);
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(*text, HasSubstr("mesh        ring 2, 2 ranks, ZeRO-3\n"));
    EXPECT_EQ(rank_config(*config, 1).plan.zero, 3);
    EXPECT_THAT(*text, HasSubstr("rank 0:  tokens 0..255  tokens 768..1023"));
    EXPECT_THAT(*text, HasSubstr("rank 1:  tokens 256..767"));
}

TEST(RingTrainConfig, MakesThePolicyOfItsMemory) {
    const auto config = parse_ring_train_config(R"({
        "name": "x", "model": {"preset": "tiny"}, "data": {"path": "/data"},
        "memory": {"tile": 64, "keep": "input", "alpha": 0.25, "windows": "on", "prefetch": 2,
                   "arena": "separate", "device": "1.5GiB"},
        "stages": [{"context": 1024, "batch": 1024, "tokens": 10240}]})");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(rank_config(*config, 0).plan.memory, resolve_memory(config->spec.memory));
    EXPECT_THAT(describe_layout(*config).value(),
                HasSubstr("memory      tile 64, chunk 4096, keeps input, alpha 0.25, kept on the "
                          "host, in windows, prefetch 2, buffers separate, device at most "
                          "1536MiB\n"));
}

TEST(RingTrainConfig, RanksOfAUlyssesGroupShareThePairsOfTheirSlot) {
    const auto config = parse_ring_train_config(R"({
        "name": "x", "model": {"preset": "tiny"}, "data": {"path": "/data"},
        "parallel": {"ring": 2, "ulysses": 2},
        "stages": [{"context": 1024, "batch": 1024, "tokens": 10240}]})");
    ASSERT_TRUE(config.ok()) << config.error().message;
    const std::string text = describe_layout(*config).value();
    constexpr int kPairs = 1024 * 1025 / 2 / 4;
    for (const int rank : {0, 1, 2, 3}) {
        const std::string line = text.substr(text.find(format("rank {}:", rank)));
        EXPECT_THAT(line.substr(0, line.find('\n')),
                    HasSubstr(format("(256 tokens, 1 chunk, {} query-key pairs)", kPairs)));
    }
}

TEST(RingTrainConfig, RefusesWhatCannotWork) {
    const auto error = [](const std::string& engine) {
        return parse_ring_train_config(
                   R"({"name": "x", "data": {"path": "/d"}, "stages": [{"context": 64,
            "batch": 64, "tokens": 64}], "engine": )" +
                   engine + "}")
            .error()
            .message;
    };
    EXPECT_THAT(error(R"({"ranks": "fibers"})"), HasSubstr("threads or processes"));
    EXPECT_THAT(error(R"({"ranks": "processes", "transport": "local"})"),
                HasSubstr("processes need gloo"));
    EXPECT_THAT(error(R"({"rank": 1})"), HasSubstr("engine.rank: unknown key"));
}

}  // namespace
}  // namespace rm
