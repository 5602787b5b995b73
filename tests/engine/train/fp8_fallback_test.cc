// A layer that FP8 does not hold: the tensor is named, the layer computes in bf16 for a while, and
// that is bf16 bit for bit, whatever else the run does meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <iostream>

#include "engine/model/linears/fp8_monitor.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// A limit that every layer exceeds in which some number became 0.
constexpr double kNone = 1e-12;

class Fp8FallbackRun : public testing::Test {
protected:
    Fp8FallbackRun() {
        for (int i = 0; i < 8; ++i)
            dir_.write(format("data/{}.txt", i), test::some_text(static_cast<unsigned>(i), 600));
        config_ = test::micro_run(dir_.file("data"), 128, 6);
        config_.spec.model.preset = "tiny";  // of four layers, as this model
        config_.model = *find_preset("micro");
        config_.model->num_layers = 4;
        config_.spec.precision = "fp8";
        config_.spec.checkpoint.every_steps = 1;
        config_.spec.checkpoint.keep = 100;
    }
    test::TrainRun train(const RankConfig& config) const {
        return test::run_training(config, test::cpu_backend(1, compute_type(config.spec)));
    }
    test::TrainRun train(const std::string& run) {
        config_.checkpoint_dir = dir_.file(run);
        test::TrainRun trained = train(config_);
        EXPECT_TRUE(trained.outcome.ok()) << trained.outcome.error().message;
        return trained;
    }
    std::string checkpoint(const std::string& run, int step) const {
        return format("{}/e1-s{}", dir_.file(run), step);
    }
    std::map<std::string, std::string> tensors_of(const std::string& run, int step) const {
        auto bytes = test::checkpoint_bytes(checkpoint(run, step));
        bytes.erase("state");
        return bytes;
    }

    TempDir dir_;
    RankConfig config_;
};

TEST(Fp8Monitor, NamesOfEachLayerTheTensorFurthestBeyondALimit) {
    const auto kernels = make_cpu_kernels({});
    const auto stream = kernels->device().make_stream("test");
    Fp8Sites sites(kernels->device(), {.fp8 = true}, 3);
    sites.begin_step(*kernels, *stream);
    stream->synchronize();
    const auto see = [&](std::int64_t layer, Fp8Site site, const Fp8Effect& effect) {
        const auto numbers = std::bit_cast<Fp8EffectNumbers>(effect);
        kernels->device().write(numbers.data(), sites.layer(layer)[usize(site)].effect);
    };
    see(0, Fp8Site::mlp_input, {.nonzero = 100, .flushed = 50, .saturated = 1});
    see(1, Fp8Site::mlp_input, {.nonzero = 1000, .saturated = 11});
    see(1, Fp8Site::mlp_hidden, {.nonzero = 100, .flushed = 99});
    see(2, Fp8Site::d_key, {.nonzero = 100, .flushed = 60});
    see(2, Fp8Site::d_mlp, {.nonfinite = 100});
    sites.monitor().queue_download(kernels->device(), *stream);
    stream->synchronize();
    EXPECT_EQ(sites.monitor().tensors().size(), 5u);
    const Fp8Limits limits{.saturated = 0.01, .flushed = 0.5};
    std::vector<std::string> names;
    for (const Fp8Tensor& tensor : sites.monitor().beyond(limits))
        names.push_back(tensor.name() + ": " + breach_text(tensor.effect, limits));
    EXPECT_THAT(names,
                testing::ElementsAre("mlp_hidden of model.layers.1: 99.0 % of its numbers become 0 "
                                     "(fp8.max_flushed: 50.0 %)",
                                     "d_key of model.layers.2: 60.0 % of its numbers become 0 "
                                     "(fp8.max_flushed: 50.0 %)"));
    EXPECT_TRUE(sites.monitor().beyond({}).empty()) << "without limits";
}

// A layer that FP8 never holds damages ever fewer steps.
TEST(Fp8Fallback, TakesTwiceAsLongWithEachRelapse) {
    Fp8Fallback fallback(2);
    EXPECT_EQ(fallback.fall_back(1, 7, 100), 107);
    EXPECT_TRUE(fallback.in_bf16(1, 107));
    EXPECT_FALSE(fallback.in_bf16(1, 108));
    EXPECT_FALSE(fallback.in_bf16(0, 107));
    EXPECT_EQ(fallback.fall_back(1, 108, 100), 308);
    Fp8Fallback resumed(2);
    resumed.restore(fallback.stays());
    for (Fp8Fallback* each : {&fallback, &resumed}) {
        EXPECT_EQ(each->fall_back(0, 300, 100), 400) << "the other layer's first";
        EXPECT_EQ(each->fall_back(1, 508, 100), 908) << "the last of 200 steps";
        EXPECT_EQ(each->fall_back(1, 1309, 100), 1409) << "FP8 held for 400 steps";
        each->forget();
        EXPECT_EQ(each->fall_back(1, 1410, 100), 1510);
    }
}

TEST(Fp8Fallback, DamagesFewStepsOfAMillion) {
    Fp8Fallback fallback(1);
    for (std::int64_t step = 1; step <= 1'000'000;)
        step = fallback.fall_back(0, step, 100) + 1;
    EXPECT_EQ(fallback.count(), 14);
}

TEST_F(Fp8FallbackRun, ReportsWhatRoundingDoes) {
    const test::TrainRun run = train("run");
    ASSERT_EQ(run.steps.size(), 6u);
    for (const StepReport& step : run.steps) {
        ASSERT_EQ(step.fp8.size(), kNumFp8Sites);
        EXPECT_EQ(step.fp8_fallbacks, 0);
        for (const auto& [tensor, seen] : step.fp8) {
            EXPECT_EQ(seen.saturated, 0) << tensor << ": scales are current";
            EXPECT_LT(seen.flushed, 0.5) << tensor;
            // Half a unit in the last place is 2^-4 (e4m3), 2^-3 (e5m2) at most.
            EXPECT_GT(seen.error, 0.005) << tensor;
            EXPECT_LT(seen.error, tensor.starts_with("d_") ? 0.125 : 0.0625) << tensor;
            EXPECT_GE(seen.layer, 1) << tensor;
            EXPECT_LE(seen.layer, 2) << tensor;
        }
    }
}

struct Place {
    const char* name;
    Mesh mesh;
    int zero = 0;
    OptimizerPlace optimizer = OptimizerPlace::device;
};

// After the first step all layers in FP8 fall back. From there on the run is one in bf16 that
// starts from the same checkpoint.
TEST_F(Fp8FallbackRun, IsBf16BitForBit) {
    const Mesh two = Mesh::make(2, 1, 1, 1).value();
    for (const Place& place : {Place{"alone", Mesh()}, Place{"data", two}, Place{"zero2", two, 2},
                               Place{"zero3", two, 3}, Place{"host", two, 1, OptimizerPlace::host},
                               Place{"host3", two, 3, OptimizerPlace::host},
                               Place{"ring_tensor", Mesh::make(1, 2, 1, 2).value(), 1}}) {
        SCOPED_TRACE(place.name);
        config_.plan.mesh = place.mesh;
        config_.plan.zero = place.zero;
        config_.spec.optimizer.place = place.optimizer;
        config_.spec.precision = "fp8";
        config_.spec.fp8 = {.max_flushed = kNone};
        const std::string fp8 = std::string("fp8_") + place.name;
        const test::TrainRun run = train(fp8);
        ASSERT_EQ(run.steps.size(), 6u);
        EXPECT_EQ(run.steps[0].fp8_fallback_layers, 0);
        EXPECT_EQ(run.steps[1].fp8_fallback_layers, 2);
        EXPECT_EQ(run.steps[5].fp8_fallbacks, 2);
        EXPECT_TRUE(run.steps[1].fp8.empty());
        EXPECT_THAT(run.alarms, Contains(AllOf(HasSubstr("step 1: FP8 does not hold "),
                                               HasSubstr(" of model.layers.1: "),
                                               HasSubstr("computes in bf16 until step 101"))));
        config_.spec.precision = "bf16";
        config_.spec.fp8 = {};
        config_.spec.checkpoint.from = checkpoint(fp8, 1);
        const std::string bf16 = std::string("bf16_") + place.name;
        train(bf16);
        config_.spec.checkpoint.from.clear();
        EXPECT_TRUE(tensors_of(bf16, 6) == tensors_of(fp8, 6));
        EXPECT_FALSE(tensors_of(fp8, 1) == tensors_of(fp8, 6));
    }
}

// Two steps in bf16, then FP8 again, with a history that starts anew, then four steps. A stop
// changes nothing.
TEST_F(Fp8FallbackRun, EndsAndIsResumed) {
    for (const Fp8Recipe recipe : {Fp8Recipe::tensorwise, Fp8Recipe::delayed}) {
        const std::string name(to_string(recipe));
        SCOPED_TRACE(name);
        config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
        config_.spec.stages[0].tokens = 10 * config_.spec.stages[0].batch;
        config_.spec.fp8 = {.recipe = recipe, .fallback_steps = 2, .max_flushed = kNone};
        const test::TrainRun run = train(name);
        ASSERT_EQ(run.steps.size(), 10u);
        std::vector<std::int64_t> layers;
        for (const StepReport& step : run.steps)
            layers.push_back(step.fp8_fallback_layers);
        EXPECT_EQ(layers, (std::vector<std::int64_t>{0, 2, 2, 0, 2, 2, 2, 2, 0, 2}));
        for (const int stop : {1, 2, 3, 4, 6, 8, 9}) {
            RankConfig config = config_;
            config.checkpoint_dir = dir_.file(format("{}_{}", name, stop));
            config.stop_after_steps = stop;
            ASSERT_TRUE(train(config).outcome.ok());
            config.stop_after_steps = 0;
            ASSERT_TRUE(train(config).outcome.ok());
            EXPECT_TRUE(test::checkpoint_bytes(config.checkpoint_dir + "/e1-s10") ==
                        test::checkpoint_bytes(checkpoint(name, 10)))
                << stop;
        }
    }
}

// A stage makes its buffers while layers are in bf16, and starts in FP8.
TEST_F(Fp8FallbackRun, EndsWithItsStage) {
    StageSpec second = config_.spec.stages[0];
    config_.spec.stages[0].tokens = 3 * second.batch;
    second.context = 256;
    second.tokens = 3 * second.batch;
    config_.spec.stages.push_back(second);
    for (const int zero : {0, 3}) {
        config_.plan.mesh = Mesh::make(2, 1, 1, 1).value();
        config_.spec.stages[1].batch = 2 * second.context;
        config_.spec.stages[1].tokens = 3 * config_.spec.stages[1].batch;
        config_.plan.zero = zero;
        config_.spec.fp8 = {.max_flushed = kNone};
        const test::TrainRun run = train(format("stages{}", zero));
        ASSERT_EQ(run.steps.size(), 6u);
        EXPECT_EQ(run.steps[2].fp8_fallback_layers, 2);
        EXPECT_EQ(run.steps[3].fp8_fallback_layers, 0);
        EXPECT_EQ(run.steps[4].fp8_fallback_layers, 2);
    }
}

// Weights that grow by 0.1 a step make activations outgrow what the steps before have shown.
TEST_F(Fp8FallbackRun, SavesAModelThatOverflows) {
    constexpr int kManySteps = 30;
    config_.checkpoint_dir.clear();
    config_.spec.checkpoint.every_steps = 0;
    config_.spec.stages[0].learning_rate = 0.1;
    config_.spec.stages[0].tokens = kManySteps * config_.spec.stages[0].batch;
    const auto last_losses = [](const test::TrainRun& run) {
        double sum = 0;
        for (std::size_t i = run.steps.size() - 5; i < run.steps.size(); ++i)
            sum += run.steps[i].loss;
        return sum / 5;
    };
    config_.spec.fp8 = {.recipe = Fp8Recipe::delayed};
    const test::TrainRun saved = train(config_);
    ASSERT_TRUE(saved.outcome.ok()) << saved.outcome.error().message;
    ASSERT_EQ(saved.steps.size(), std::size_t{kManySteps});
    EXPECT_GE(saved.steps.back().fp8_fallbacks, 1);
    EXPECT_THAT(saved.alarms, Contains(AllOf(HasSubstr("numbers are too large for their scale"),
                                             HasSubstr(" of model.layers."))));
    config_.spec.fp8.fallback_steps = 0;
    const test::TrainRun ended = train(config_);
    ASSERT_FALSE(ended.outcome.ok());
    EXPECT_LT(ended.steps.size(), std::size_t{kManySteps});
    EXPECT_THAT(
        ended.outcome.error().message,
        AllOf(HasSubstr("FP8 does not hold "), HasSubstr(" of model.layers."),
              HasSubstr("numbers are too large for their scale (fp8.max_saturated: 1.0 %)")));
    std::cout << ended.outcome.error().message << "\n";
    config_.spec.precision = "bf16";
    config_.spec.fp8 = {};
    const test::TrainRun bf16 = train(config_);
    std::cout << "losses at the end: " << last_losses(saved) << ", in bf16 " << last_losses(bf16)
              << "\n";
    EXPECT_LT(last_losses(saved), 1.1 * last_losses(bf16));
}

TEST_F(Fp8FallbackRun, IsAnErrorWithTheTensorsNameWhereTheJobHasNone) {
    config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    config_.spec.fp8 = {.fallback_steps = 0, .max_flushed = kNone};
    config_.checkpoint_dir = dir_.file("ended");
    const test::TrainRun run = train(config_);
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_EQ(run.outcome.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(run.outcome.error().message,
                AllOf(HasSubstr("step 1: FP8 does not hold "), HasSubstr(" of model.layers.1: "),
                      HasSubstr(" % of its numbers become 0 (fp8.max_flushed: "),
                      HasSubstr("fp8.fallback_steps")));
    EXPECT_EQ(run.steps.size(), 1u);
}

}  // namespace
}  // namespace rm
