#include "spec/job_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace rm {
namespace {

using ::testing::HasSubstr;

JobSpec good_spec() {
    JobSpec spec;
    spec.name = "quickstart";
    spec.model.preset = "tiny";
    spec.data.sources = {{"/data/text"}};
    spec.stages = {{.context = 8192, .batch = 16384, .tokens = 1'000'000}};
    spec.parallel = Mesh::make(2, 4, 1, 1).value();
    return spec;
}

TEST(JobSpec, AGoodOneIsValid) {
    const Status status = validate(good_spec());
    EXPECT_TRUE(status.ok()) << status.error().message;
    JobSpec automatic = good_spec();
    automatic.parallel.reset();
    EXPECT_TRUE(validate(automatic).ok());
}

struct Broken {
    const char* message;  // part of the error
    std::function<void(JobSpec&)> breaks;
};

TEST(JobSpec, ErrorsNameKeyAndValue) {
    const auto stage = [](JobSpec& spec) -> StageSpec& { return spec.stages[0]; };
    const std::vector<Broken> cases = {
        {"name: ''", [](JobSpec& s) { s.name = ""; }},
        {"name: 'a/b'", [](JobSpec& s) { s.name = "a/b"; }},
        {"name: '..'", [](JobSpec& s) { s.name = ".."; }},
        {"letters, digits", [](JobSpec& s) { s.name = std::string(64, 'a'); }},
        {"model.preset: 'huge' is not known", [](JobSpec& s) { s.model.preset = "huge"; }},
        {"model: neither preset nor from is given", [](JobSpec& s) { s.model.preset = ""; }},
        {"model: both preset and from are", [](JobSpec& s) { s.model.from = "/m"; }},
        {"data.path: missing", [](JobSpec& s) { s.data.sources = {}; }},
        {"data.path: empty", [](JobSpec& s) { s.data.sources = {{""}}; }},
        {"data.path: 1 of 2 sources have a proportion; all or none",
         [](JobSpec& s) {
             s.data.sources = {{"/a", 0.5}, {"/b"}};
         }},
        {"data.path: '/a' has proportion -1",
         [](JobSpec& s) {
             s.data.sources = {{"/a", -1}};
         }},
        {"has a line break in it", [](JobSpec& s) { s.data.sources = {{"/a\n/b"}}; }},
        {"data.format: 'parquet'", [](JobSpec& s) { s.data.format = "parquet"; }},
        {"data.tokenizer: empty", [](JobSpec& s) { s.data.tokenizer = ""; }},
        {"data.holdout: 0.9", [](JobSpec& s) { s.data.holdout = 0.9; }},
        {"data.holdout: nan", [](JobSpec& s) { s.data.holdout = std::nan(""); }},
        {"stages: empty", [](JobSpec& s) { s.stages.clear(); }},
        {"stages[0].context: 0", [&](JobSpec& s) { stage(s).context = 0; }},
        {"stages[0].batch: 12288 is not a multiple of the context 8192; the nearest: 8192 or 16384",
         [&](JobSpec& s) { stage(s).batch = 12288; }},
        {"stages[0].batch: 100 is not a multiple of the context 8192; the nearest: 8192",
         [&](JobSpec& s) { stage(s).batch = 100; }},
        {"stages[0].batch: 8192 is 1 sequence of 8192 tokens, fewer than parallel.data 2",
         [&](JobSpec& s) { stage(s).batch = 8192; }},
        {"stages[0].context 100 is too short for",
         [&](JobSpec& s) { stage(s).context = stage(s).batch = 100; }},
        {"stages[0].tokens: -1", [&](JobSpec& s) { stage(s).tokens = -1; }},
        {"stages[0].tokens: 0 only evaluates, and there is nothing to evaluate",
         [&](JobSpec& s) { stage(s).tokens = 0; }},
        {"evaluate.tokens: 0; a job that only evaluates",
         [&](JobSpec& s) {
             stage(s).tokens = 0;
             s.checkpoint.from = "/checkpoints";
             s.evaluation.tokens = 0;
         }},
        {"stages[0].learning_rate: -1", [&](JobSpec& s) { stage(s).learning_rate = -1; }},
        {"stages[0].learning_rate: inf",
         [&](JobSpec& s) { stage(s).learning_rate = std::numeric_limits<double>::infinity(); }},
        {"stages[0].rope_theta: 0.5", [&](JobSpec& s) { stage(s).rope_theta = 0.5; }},
        {"stages[0].rope_factor: is of rope linear or yarn, not of model",
         [&](JobSpec& s) { stage(s).rope_factor = 2; }},
        {"stages[0].rope_factor: 0.5 must be 1 or more",
         [&](JobSpec& s) {
             stage(s).rope = StageRope::yarn;
             stage(s).rope_factor = 0.5;
         }},
        {"tags[1]: 'a b' must be 1 to 63 letters",
         [](JobSpec& s) {
             s.tags = {"a", "a b"};
         }},
        {"tags: 33; at most 32", [](JobSpec& s) { s.tags.assign(33, "a"); }},
        {"evaluate.suites[0].digits: 0", [](JobSpec& s) { s.evaluation.suites = {{.digits = 0}}; }},
        {"evaluate.prompts[0].prompt: is empty", [](JobSpec& s) { s.evaluation.prompts = {{}}; }},
        {"stages[0].final_learning_rate: 1", [&](JobSpec& s) { stage(s).final_learning_rate = 1; }},
        {"stages[0].warmup: 1000", [&](JobSpec& s) { stage(s).warmup_steps = 1000; }},
        {"stages[1].tokens: 0",
         [&](JobSpec& s) {
             s.stages.push_back(s.stages[0]);
             s.stages[1].tokens = 0;
         }},
        {"memory.tile: 100", [](JobSpec& s) { s.memory.tile = 100; }},
        {"memory.chunk: 700 must be a multiple of the tile, 512",
         [](JobSpec& s) { s.memory.chunk = 700; }},
        {"memory.alpha: 2", [](JobSpec& s) { s.memory.alpha = 2; }},
        {"memory.windows: on needs what is kept on the host",
         [](JobSpec& s) {
             s.memory.windows = Switch::on;
             s.memory.offload = Switch::off;
         }},
        {"parallel.tensor: 3 does not divide memory.tile 64; the nearest multiples of 64 that it "
         "divides: 192",
         [](JobSpec& s) {
             s.model = {.preset = "", .from = "/m"};
             s.memory.tile = 64;
             s.parallel = Mesh::make(1, 1, 1, 3).value();
         }},
        {"parallel.tensor: 6 does not divide memory.tile 512; the nearest multiples of 64 that it "
         "divides: 384 or 576",
         [](JobSpec& s) {
             s.model = {.preset = "", .from = "/m"};
             s.parallel = Mesh::make(1, 1, 1, 6).value();
         }},
        {"parallel: ulysses x tensor is 3, which does not divide the model's 4 query heads; the "
         "nearest that does: 2 or 4",
         [](JobSpec& s) { s.parallel = Mesh::make(1, 1, 1, 3).value(); }},
        {"parallel.zero: 4 must be 0, 1, 2 or 3", [](JobSpec& s) { s.zero = 4; }},
        {"parallel.zero: -1 must be",
         [](JobSpec& s) {
             s.zero = -1;
             s.parallel.reset();
         }},
        {"resources.devices: 3 but the mesh data 2 x ring 4 has 8 ranks",
         [](JobSpec& s) { s.resources.devices = 3; }},
        {"optimizer.beta1: 1", [](JobSpec& s) { s.optimizer.beta1 = 1; }},
        {"optimizer.beta2: -0.1", [](JobSpec& s) { s.optimizer.beta2 = -0.1; }},
        {"optimizer.eps: 0", [](JobSpec& s) { s.optimizer.eps = 0; }},
        {"optimizer.weight_decay: -1", [](JobSpec& s) { s.optimizer.weight_decay = -1; }},
        {"optimizer.clip_norm: -1", [](JobSpec& s) { s.optimizer.clip_norm = -1; }},
        {"optimizer.max_skipped: 0 must be 1 or more",
         [](JobSpec& s) { s.optimizer.max_skipped = 0; }},
        {"optimizer.gradients: 'fp8' is not known; fp32 or bf16",
         [](JobSpec& s) { s.optimizer.gradients = "fp8"; }},
        {"optimizer.moments: 'fp8' is not known; fp32 or bf16",
         [](JobSpec& s) { s.optimizer.moments = "fp8"; }},
        {"precision: 'fp16' is not known; fp32, bf16 or fp8",
         [](JobSpec& s) { s.precision = "fp16"; }},
        {"fp8: is for precision fp8, and precision is fp32; set that or leave fp8 out",
         [](JobSpec& s) { s.fp8.gradients = Fp8Gradients::e4m3; }},
        {"fp8.bf16_layers: -1 must not be negative; 0 keeps no layer in bf16",
         [](JobSpec& s) {
             s.precision = "fp8";
             s.fp8.bf16_layers = -1;
         }},
        {"attention: 8bit is for precision bf16 or fp8, and precision is fp32",
         [](JobSpec& s) { s.attention = AttentionNumbers::eight_bit; }},
        {"fp8.fallback_steps: -5 must not be negative; 0 ends a run that FP8 does not hold",
         [](JobSpec& s) {
             s.precision = "fp8";
             s.fp8.fallback_steps = -5;
         }},
        {"fp8.bf16_layers: 0 makes room for no layer in bf16",
         [](JobSpec& s) {
             s.precision = "fp8";
             s.fp8.bf16_layers = 0;
         }},
        {"fp8.max_flushed: 1.5 is no share; above 0, and at most 1, which sets no limit",
         [](JobSpec& s) {
             s.precision = "fp8";
             s.fp8.max_flushed = 1.5;
         }},
        {"fp8.max_saturated: 0 is no share",
         [](JobSpec& s) {
             s.precision = "fp8";
             s.fp8.max_saturated = 0;
         }},
        {"fp8.bf16_layers: 2 at each end leave none of the 4 layers of tiny in FP8; at most 1",
         [](JobSpec& s) {
             s.precision = "fp8";
             s.model.preset = "tiny";
             s.fp8.bf16_layers = 2;
         }},
        {"resources.devices: -1",
         [](JobSpec& s) {
             s.resources.devices = -1;
             s.parallel.reset();
         }},
        {"checkpoint.every: -1", [](JobSpec& s) { s.checkpoint.every_steps = -1; }},
        {"checkpoint.keep: 0", [](JobSpec& s) { s.checkpoint.keep = 0; }},
        {"evaluate: every -1", [](JobSpec& s) { s.evaluation.every_steps = -1; }},
    };
    for (const Broken& broken : cases) {
        JobSpec spec = good_spec();
        broken.breaks(spec);
        const Status status = validate(spec);
        ASSERT_FALSE(status.ok()) << broken.message;
        EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
        EXPECT_THAT(status.error().message, HasSubstr(broken.message));
    }
}

TEST(JobSpec, EveryAxisAndZeroStageMayBeAskedFor) {
    for (int zero = 0; zero <= 3; ++zero) {
        JobSpec spec = good_spec();
        spec.zero = zero;
        spec.parallel = Mesh::make(2, 4, 2, 2, 2).value();
        spec.data.documents = Documents::separate;
        spec.data.positions = Positions::running;
        spec.optimizer.moments = "bf16";
        spec.memory.windows = Switch::on;
        const Status status = validate(spec);
        EXPECT_TRUE(status.ok()) << status.error().message;
        spec.parallel.reset();
        EXPECT_TRUE(validate(spec).ok()) << "ZeRO-" << zero << " on an automatic mesh";
    }
}

TEST(JobSpec, ATensorGroupMustDivideTheModel) {
    JobSpec spec = good_spec();
    spec.parallel = Mesh::make(1, 1, 1, 5).value();
    spec.memory.tile = 320;
    EXPECT_THAT(validate(spec).error().message, HasSubstr("query heads; the nearest"));
}

TEST(JobSpec, DataSourcesComeBackFromTheirText) {
    for (const DataSource& source :
         {DataSource{"/a", 0}, DataSource{"/a@b", 0}, DataSource{"/a@b", 1.0 / 3}}) {
        EXPECT_EQ(parse_data_source(to_string(source)).value(), source);
    }
    for (const std::string text : {"/a@0", "/a@-1", "/a@nan", "/a@inf"})
        EXPECT_FALSE(parse_data_source(text)) << text;
}

TEST(JobSpec, CountsWholeSteps) {
    EXPECT_EQ((StageSpec{.context = 64, .batch = 128, .tokens = 1280}.num_steps()), 10);
    EXPECT_EQ((StageSpec{.context = 64, .batch = 128, .tokens = 1340}.num_steps()), 10);
    EXPECT_EQ((StageSpec{.context = 64, .batch = 128, .tokens = 1345}.num_steps()), 11);
    EXPECT_EQ((StageSpec{.context = 64, .batch = 128, .tokens = 1}.num_steps()), 1);
    JobSpec spec;
    spec.stages = {{.context = 64, .batch = 64, .tokens = 640},
                   {.context = 128, .batch = 128, .tokens = 256}};
    EXPECT_EQ(spec.num_steps(), 12);
}

TEST(JobSpec, ReadsScheduleNames) {
    for (const Schedule s : {Schedule::constant, Schedule::cosine, Schedule::linear}) {
        EXPECT_EQ(parse_word<Schedule>(to_string(s)).value(), s);
    }
    EXPECT_THAT(parse_word<Schedule>("step").error().message,
                HasSubstr("constant, cosine or linear"));
}

TEST(JobSpec, WordsComeBackAndUnknownOnesNameThem) {
    for (const Documents d : {Documents::joined, Documents::separate})
        EXPECT_EQ(parse_word<Documents>(to_string(d)).value(), d);
    for (const Positions p : {Positions::reset, Positions::running})
        EXPECT_EQ(parse_word<Positions>(to_string(p)).value(), p);
    for (const OptimizerPlace p : {OptimizerPlace::device, OptimizerPlace::host})
        EXPECT_EQ(parse_word<OptimizerPlace>(to_string(p)).value(), p);
    EXPECT_EQ(parse_word<Documents>("packed").error().message,
              "documents 'packed' is not known; joined or separate");
    EXPECT_EQ(parse_word<Positions>("").error().message,
              "positions '' is not known; reset or running");
    EXPECT_EQ(parse_word<OptimizerPlace>("disk").error().message,
              "place 'disk' is not known; device or host");
}

}  // namespace
}  // namespace rm
