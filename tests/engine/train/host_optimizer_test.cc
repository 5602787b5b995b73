// State on the host must train the same as state on the device, and leave the device's memory free.
#include <gtest/gtest.h>

#include "engine/checkpoint/durable_file.h"
#include "tests/support/rig_checks.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using test::RigConfig;
using test::RigResult;

struct Layout {
    int data = 1;
    int ring = 1;
    int ulysses = 1;
    int tensor = 1;
    int zero = 0;
    std::int64_t sequences = 2;
    int kv_heads = 2;
    bool tied = false;
    bool packed = false;
    std::int64_t context = 128;
    int layers = 2;
    std::int64_t block = 0;  // elements of embedding and head that travel together
};

std::string name_of(const Layout& l) {
    return format("D{}R{}U{}T{}Zero{}N{}Hk{}L{}{}{}{}", l.data, l.ring, l.ulysses, l.tensor, l.zero,
                  l.sequences, l.kv_heads, l.layers, l.tied ? "Tied" : "", l.packed ? "Packed" : "",
                  l.block > 0 ? "Blocks" : "");
}

// Returns a configuration with state on the device.
RigConfig config_of(const Layout& l, const test::KernelsFactory& backend) {
    RigConfig config;
    config.backend = backend;
    config.model = test::small_model();
    config.model.num_kv_heads = l.kv_heads;
    config.model.num_layers = l.layers;
    config.model.tied_head = l.tied;
    config.context = l.context;
    config.sequences = l.sequences;
    config.mesh = Mesh::make(l.data, l.ring, l.ulysses, l.tensor).value();
    config.zero = l.zero;
    config.vocabulary_block = l.block;
    config.steps = 2;
    if (l.packed) config.documents = {37, 1, 20, 5, l.context - 63};
    return config;
}

RigResult run_on_host(RigConfig config, const test::KernelsFactory& host) {
    config.host = host;
    return run_rig(config);
}

class HostOptimizer : public testing::TestWithParam<Layout> {};

TEST_P(HostOptimizer, TrainsWhatOneRankTrainsOnItsDevice) {
    const Layout& layout = GetParam();
    RigConfig config = config_of(layout, test::ref_backend());
    const RigResult host = run_on_host(config, test::ref_backend());
    config.mesh = Mesh();
    config.zero = 0;
    const RigResult one = run_rig(config);
    test::expect_same_training(host, one);
}

const Layout kLayouts[] = {
    // A single rank's part is the whole, at every stage.
    {},
    {.zero = 3, .sequences = 1, .tied = true},
    // With state on the host, stages below 2 act as stage 2.
    {.data = 2},
    {.data = 2, .zero = 2, .sequences = 5, .packed = true},
    {.data = 2, .zero = 3, .sequences = 5, .tied = true},
    {.ring = 2, .zero = 2, .sequences = 3, .packed = true},
    {.ulysses = 2, .zero = 3, .packed = true},
    {.tensor = 2, .tied = true},
    // Key-value heads shared by tensor ranks, over one micro-batch and over several.
    {.tensor = 4, .sequences = 3, .kv_heads = 1},
    {.data = 2, .tensor = 2, .zero = 3, .sequences = 4, .kv_heads = 1},
    {.data = 2, .ring = 2, .tensor = 2, .zero = 3, .kv_heads = 1, .packed = true},
    // Several blocks of embedding and head.
    {.sequences = 3, .block = 512},
    {.tied = true, .block = 512},
    {.zero = 3, .sequences = 1, .tied = true, .block = 512},
    {.data = 2, .zero = 2, .sequences = 5, .block = 512},
    {.data = 2, .zero = 3, .sequences = 4, .tied = true, .block = 512},
    {.data = 2, .tensor = 2, .zero = 3, .sequences = 4, .block = 512},
};

INSTANTIATE_TEST_SUITE_P(Layouts, HostOptimizer, testing::ValuesIn(kLayouts),
                         [](const auto& info) { return name_of(info.param); });

struct Bits {
    Layout layout;
    DType compute;
    StateTypes types;
};

std::string name_of(const Bits& bits) {
    return name_of(bits.layout) + std::string(to_string(bits.compute)) +
           (bits.types.moments ? "Bf16Moments" : "") +
           (bits.types.gradients ? "Bf16Gradients" : "");
}

class HostOptimizerBits : public testing::TestWithParam<Bits> {
protected:
    static void expect_same(const RigResult& a, const RigResult& b) {
        EXPECT_EQ(a.losses, b.losses);
        EXPECT_EQ(a.grad_norms, b.grad_norms);
        EXPECT_TRUE(a.gradients == b.gradients);
        EXPECT_TRUE(a.weights == b.weights);
    }
};

// The host runs the same ops in the same order. A single rank sums micro-batches differently on the
// device, so it has only one here.
TEST_P(HostOptimizerBits, AreThoseOfTheDevice) {
    const auto& [layout, compute, types] = GetParam();
    RigConfig config = config_of(layout, test::cpu_backend(1, compute));
    config.types = types;
    const RigResult device = run_rig(config);
    const test::KernelsFactory host = test::cpu_backend(2, compute);
    expect_same(run_on_host(config, host), device);
    config.backend = test::closed_cpu_backend(1, compute);
    expect_same(run_on_host(config, host), device);
}

constexpr StateTypes kBf16{DType::bf16, DType::bf16};

const Bits kBits[] = {
    {{.sequences = 1}, DType::bf16, {DType::bf16}},
    {{.data = 2, .zero = 2}, DType::f32, {}},
    {{.data = 2, .zero = 2, .tied = true}, DType::bf16, {}},
    {{.data = 2, .zero = 3}, DType::bf16, {DType::bf16}},
    {{.data = 2, .zero = 3, .sequences = 6, .packed = true}, DType::f32, {DType::bf16}},
    {{.ring = 3, .zero = 3, .context = 192}, DType::f32, {}},
    {{.data = 2, .tensor = 4, .zero = 2, .kv_heads = 1}, DType::bf16, {}},
    {{.data = 2, .ring = 2, .tensor = 2, .zero = 3}, DType::bf16, {DType::bf16}},
    // More layers than the buffers that they share.
    {{.sequences = 1, .tied = true, .layers = 5}, DType::bf16, {}},
    {{.data = 2, .zero = 2, .layers = 5}, DType::bf16, {DType::bf16}},
    {{.data = 2, .zero = 3, .layers = 5}, DType::f32, {}},
    {{.data = 2, .zero = 2, .block = 512}, DType::bf16, {}},
    {{.data = 2, .zero = 3, .sequences = 4, .layers = 3, .block = 512}, DType::bf16, {DType::bf16}},
    {{.data = 2, .tensor = 2, .zero = 3, .tied = true, .block = 512}, DType::f32, {}},
    // Rounded gradients: of layers, of the embedding with and without a buffer of its own, and such
    // as tensor ranks share.
    {{.sequences = 1, .layers = 3}, DType::f32, {.gradients = DType::bf16}},
    {{.sequences = 1, .tied = true}, DType::bf16, {.gradients = DType::bf16}},
    {{.data = 2, .zero = 2, .layers = 3}, DType::bf16, kBf16},
    {{.data = 2, .zero = 3, .sequences = 6}, DType::bf16, {.gradients = DType::bf16}},
    {{.data = 2, .tensor = 2, .zero = 3, .tied = true, .block = 512}, DType::bf16, kBf16},
    {{.data = 2, .tensor = 4, .zero = 2, .kv_heads = 1}, DType::f32, {.gradients = DType::bf16}},
};

INSTANTIATE_TEST_SUITE_P(Layouts, HostOptimizerBits, testing::ValuesIn(kBits),
                         [](const auto& info) { return name_of(info.param); });

// Holds two units' gradients, and neither master weights nor moments.
TEST(HostOptimizerMemory, IsNoneOfTheDevices) {
    RigConfig config = config_of({.zero = 2}, test::closed_cpu_backend(1, DType::bf16));
    config.model.num_layers = 8;
    config.steps = 1;
    const RigResult device = run_rig(config);
    const RigResult host = run_on_host(config, test::cpu_backend(1, DType::bf16));
    EXPECT_EQ(host.memory.at("optimizer"), Bytes{0});
    EXPECT_LT(host.memory.at("gradients").value, device.memory.at("gradients").value / 2);
    EXPECT_LT(host.memory.at("weights"), device.memory.at("weights"));
    config = config_of({.data = 2, .zero = 3}, test::closed_cpu_backend(1, DType::bf16));
    config.model.num_layers = 8;
    const RigResult parts = run_on_host(config, test::cpu_backend(1, DType::bf16));
    EXPECT_LT(parts.memory.at("weights"), host.memory.at("weights"));
}

class HostOptimizerRun : public testing::Test {
protected:
    HostOptimizerRun() {
        dir_.write("data/a.txt", test::some_text(1, 2000));
        config_ = test::micro_run(dir_.file("data"), 128, 4);
        config_.spec.precision = "bf16";
        config_.spec.optimizer.moments = "bf16";
        config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
        config_.plan.zero = 3;
    }
    // Trains `steps` steps in this run, or to the end.
    test::TrainRun train(const std::string& name, OptimizerPlace place, int steps = 0) {
        config_.checkpoint_dir = dir_.file(name);
        config_.spec.optimizer.place = place;
        config_.stop_after_steps = steps;
        test::TrainRun run = test::run_training(config_, test::closed_cpu_backend(1, DType::bf16));
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        return run;
    }
    static double busy_seconds(const StepReport& step) {
        double busy = -step.phase_seconds.at("idle");
        for (const auto& [phase, seconds] : step.phase_seconds)
            busy += seconds;
        return busy;
    }
    std::map<std::string, std::string> state(const std::string& name, int step) {
        return test::checkpoint_bytes(format("{}/e1-s{}", dir_.file(name), step));
    }

    TempDir dir_;
    RankConfig config_;
};

TEST_F(HostOptimizerRun, GoesOnFromTheDeviceAndBackWithEveryBit) {
    train("device", OptimizerPlace::device);
    train("both", OptimizerPlace::host, 1);
    train("both", OptimizerPlace::device, 2);
    train("both", OptimizerPlace::host);
    EXPECT_TRUE(state("both", 4) == state("device", 4));
}

TEST_F(HostOptimizerRun, WritesCheckpointsDuringTheNextStepAndExportsTheSameModel) {
    config_.spec.checkpoint = {"", 1, 30};
    config_.spec.exports.huggingface = dir_.file("from-device");
    train("device", OptimizerPlace::device);
    config_.spec.exports.huggingface = dir_.file("from-host");
    train("host", OptimizerPlace::host);
    for (const int step : {1, 2, 4})
        EXPECT_TRUE(state("host", step) == state("device", step)) << step;
    const auto model = [&](const std::string& name) {
        return read_file(dir_.file(name) + "/model.safetensors").value();
    };
    EXPECT_EQ(model("from-host"), model("from-device"));
    config_.spec.exports.huggingface.clear();
    config_.spec.model = {"", dir_.file("from-device")};
    train("device-again", OptimizerPlace::device);
    train("host-again", OptimizerPlace::host);
    EXPECT_TRUE(state("host-again", 4) == state("device-again", 4));
}

// Every step ends with an update still running, and the next action must wait for it.
TEST_F(HostOptimizerRun, ChangesNoBitOverStagesEvaluationsAndResuming) {
    StageSpec longer = config_.spec.stages[0];
    longer.schedule = Schedule::cosine;
    longer.context = 256;
    config_.spec.stages.push_back(longer);
    config_.spec.evaluation = {1, 512};
    const test::TrainRun device = train("device", OptimizerPlace::device);
    const test::TrainRun host = train("host", OptimizerPlace::host);
    EXPECT_TRUE(state("host", 8) == state("device", 8));
    for (const StepReport& step : host.steps)
        EXPECT_LE(busy_seconds(step), step.seconds) << step.step;
    ASSERT_EQ(host.evaluations.size(), device.evaluations.size());
    for (std::size_t i = 0; i < host.evaluations.size(); ++i)
        EXPECT_EQ(host.evaluations[i].loss, device.evaluations[i].loss);
    train("resumed", OptimizerPlace::host, 3);
    train("resumed", OptimizerPlace::host, 2);
    train("resumed", OptimizerPlace::host);
    EXPECT_TRUE(state("resumed", 8) == state("device", 8));
}

TEST_F(HostOptimizerRun, ReportsHostMemoryBesideThatOfTheDevice) {
    const MemoryReport device = train("device", OptimizerPlace::device, 1).steps[0].memory;
    const MemoryReport host = train("host", OptimizerPlace::host, 1).steps[0].memory;
    for (const char* kind : {"weights", "gradients", "optimizer"}) {
        EXPECT_FALSE(device.by_kind.contains(format("host {}", kind)));
        EXPECT_GT(host.by_kind.at(format("host {}", kind)).value, 0);
    }
    EXPECT_EQ(host.by_kind.at("host optimizer"), device.by_kind.at("optimizer"));
    EXPECT_EQ(host.by_kind.at("optimizer"), Bytes{0});
    EXPECT_LT(host.total, device.total);
}

}  // namespace
}  // namespace rm
