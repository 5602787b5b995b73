// On the device kernels all layouts train what one rank trains, and moving data changes no bit.
// Sizes are tiny and runs have two steps, because `emu` plays every instruction of a kernel.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/train/device_backend.h"
#include "tests/support/rig_checks.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using test::device_backend;
using test::RigConfig;
using test::RigResult;

// Head dims are the device's; every other size is the smallest possible.
ModelConfig tiny_model() {
    return {.vocabulary = 61,
            .hidden = 32,
            .num_layers = 2,
            .num_query_heads = 2,
            .num_kv_heads = 1,
            .head_dim = 64,
            .feed_forward = 48};
}

struct Layout {
    int data = 1;
    int ring = 1;
    std::int64_t context = 128;
    int inner = 0;
    int ulysses = 1;
    int tensor = 1;
    int zero = 0;
    std::vector<std::int64_t> documents = {};  // empty: one
    std::int64_t block = 0;  // elements of embedding and head that travel together
};

std::string name_of(const Layout& l) {
    std::string name = format("Data{}Ring{}", l.data, l.ring);
    if (l.inner > 0) name += format("Inner{}", l.inner);
    if (l.ulysses > 1) name += format("Ulysses{}", l.ulysses);
    if (l.tensor > 1) name += format("Tensor{}", l.tensor);
    if (l.zero > 0) name += format("Zero{}", l.zero);
    if (l.block > 0) name += "Blocks";
    return name + (l.documents.empty() ? "" : "Packed");
}

RigConfig rig_of(const Layout& layout, const test::KernelsFactory& backend) {
    RigConfig config;
    config.backend = backend;
    config.mesh =
        Mesh::make(layout.data, layout.ring, layout.ulysses, layout.tensor, layout.inner).value();
    config.model = tiny_model();
    config.context = layout.context;
    config.documents = layout.documents;
    config.zero = layout.zero;
    config.vocabulary_block = layout.block;
    config.sequences = 2;
    return config;
}

// The same documents on one rank.
RigConfig alone(const Layout& layout, const test::KernelsFactory& backend) {
    return rig_of({.context = layout.context, .documents = layout.documents}, backend);
}

class OnTheDevice : public testing::Test {
protected:
    void SetUp() override {
        if (!test::has_device_backend()) GTEST_SKIP() << "no device";
    }
};

class DeviceLayout : public OnTheDevice, public testing::WithParamInterface<Layout> {};

TEST_P(DeviceLayout, TrainsWhatOneRankTrains) {
    const Layout& layout = GetParam();
    RigConfig config = alone(layout, test::ref_backend());
    config.steps = 0;
    const RigResult exact = run_rig(config);
    config.backend = device_backend();
    const RigResult one = run_rig(config);
    config = rig_of(layout, device_backend());
    config.steps = 0;
    const RigResult mesh = run_rig(config);
    test::expect_derived_tolerance(mesh, one, exact, DType::bf16);
    // Compares bf16 with fp64, which shows that these are the model's gradients at all.
    for (const auto& [name, r] : exact.gradients) {
        EXPECT_LE(test::norm_difference(one.gradients.at(name), r), 0.05 * test::norm(r)) << name;
    }
}

// With and without padding; 192 / 4 tokens are less than a tile.
INSTANTIATE_TEST_SUITE_P(DataAndRing, DeviceLayout,
                         testing::Values(Layout{1, 2, 300}, Layout{1, 3, 384}, Layout{1, 5, 320},
                                         Layout{2, 1, 128}, Layout{2, 2, 192}, Layout{2, 3, 192}),
                         [](const auto& info) { return name_of(info.param); });

// The ring's ranks share the long document; the others are cut nowhere.
const std::vector<std::int64_t> kPacked = {150, 1, 37, 68};

INSTANTIATE_TEST_SUITE_P(
    AllAxes, DeviceLayout,
    testing::Values(Layout{.ring = 4, .context = 256, .inner = 2}, Layout{.ulysses = 2},
                    Layout{.tensor = 2}, Layout{.data = 2, .zero = 2}, Layout{.data = 2, .zero = 3},
                    Layout{.ring = 2, .context = 256, .documents = kPacked},
                    Layout{.data = 2, .ring = 2, .tensor = 2, .zero = 3},
                    Layout{.data = 2, .tensor = 2, .zero = 3, .block = 1024},
                    Layout{.ring = 2, .ulysses = 2, .zero = 3, .documents = {100, 28}}),
    [](const auto& info) { return name_of(info.param); });

// Compares a step and its update with `cpu` in bf16.
TEST_F(OnTheDevice, AStepIsAsGoodAsThatOfTheCpuBackend) {
    RigConfig config = rig_of({1, 1, 192}, test::ref_backend());
    const RigResult exact = run_rig(config);
    config.backend = test::cpu_backend(1, DType::bf16);
    const RigResult cpu = run_rig(config);
    config.backend = device_backend();
    const RigResult device = run_rig(config);
    const auto error = [](double a, double b) { return std::abs(a - b); };
    EXPECT_LE(error(device.losses[0], exact.losses[0]),
              2 * error(cpu.losses[0], exact.losses[0]) + 1e-3);
    for (const auto& [name, r] : exact.gradients) {
        EXPECT_LE(test::norm_difference(device.gradients.at(name), r),
                  2 * test::norm_difference(cpu.gradients.at(name), r))
            << name;
    }
    // AdamW's first step is the gradient's sign, so weights differ where that is near zero.
    for (const auto& [name, r] : exact.weights) {
        EXPECT_LE(test::norm_difference(device.weights.at(name), r),
                  2 * test::norm_difference(cpu.weights.at(name), r) + 1e-6 * test::norm(r))
            << name;
    }
}

// Gradients reach the host unchanged, but AdamW on the host may round its f32 differently.
TEST_F(OnTheDevice, StateOnTheHostIsUpdatedAsOnTheDevice) {
    for (const int data : {1, 2}) {
        RigConfig config = rig_of({data, 1, 128}, device_backend());
        config.sequences = data;
        config.zero = 3;
        const RigResult device = run_rig(config);
        config.host = test::cpu_backend(1, DType::bf16);
        const RigResult host = run_rig(config);
        EXPECT_EQ(host.losses, device.losses);
        EXPECT_TRUE(host.gradients == device.gradients);
        for (const auto& [name, r] : device.weights) {
            EXPECT_LE(test::norm_difference(host.weights.at(name), r),
                      4 * std::ldexp(1.0, -23) * test::norm(r))
                << name;
        }
    }
}

class DeviceIdentity : public OnTheDevice {
protected:
    static RigResult two_steps(const Layout& layout, std::int64_t chunk, std::uint64_t seed) {
        RigConfig config = rig_of(layout, device_backend(seed));
        config.steps = 2;
        config.chunk = chunk;
        return run_rig(config);
    }
    static RigResult two_steps(const Layout& layout, const MemoryPolicy& memory) {
        RigConfig config = rig_of(layout, device_backend());
        config.steps = 2;
        config.memory = memory;
        return run_rig(config);
    }
    static void expect_same(const RigResult& a, const RigResult& b) {
        EXPECT_EQ(a.losses, b.losses);
        EXPECT_EQ(a.gradients, b.gradients);
        EXPECT_EQ(a.weights, b.weights);
    }
};

// Memory closed to the host: what lies there comes and goes by queued transfers alone.
TEST_F(DeviceIdentity, OffloadChangesNoBit) {
    for (const Layout& layout :
         {Layout{.context = 192}, Layout{.ring = 2, .context = 256, .documents = kPacked},
          Layout{.ulysses = 2, .zero = 2}, Layout{.ring = 2, .tensor = 2, .zero = 3}}) {
        SCOPED_TRACE(name_of(layout));
        const RigResult kept = two_steps(layout, MemoryPolicy{});
        expect_same(two_steps(layout, {.alpha = 0, .kept = KeptPlace::host}), kept);
        expect_same(two_steps(layout, {.alpha = 0.5, .kept = KeptPlace::host}), kept);
    }
}

TEST_F(DeviceIdentity, WindowsChangeNoBit) {
    for (const Layout& layout :
         {Layout{.context = 192}, Layout{.context = 256, .documents = kPacked},
          Layout{.data = 2, .zero = 3}}) {
        SCOPED_TRACE(name_of(layout));
        const RigResult kept = two_steps(layout, MemoryPolicy{});
        for (const Keep keep : {Keep::input, Keep::input_and_attention}) {
            expect_same(two_steps(layout, {.keep = keep,
                                           .alpha = 0.5,
                                           .kept = KeptPlace::host,
                                           .working = WorkingSet::windows}),
                        kept);
        }
    }
}

// Chunks go round a ring, and tiles to other ranks, from memory closed to the host.
TEST_F(DeviceIdentity, WindowsOfSeveralRanksChangeNoBit) {
    for (const Layout& layout :
         {Layout{.ring = 2, .context = 256, .documents = kPacked}, Layout{.ulysses = 2},
          Layout{.ring = 2, .context = 256, .tensor = 2, .zero = 3}}) {
        SCOPED_TRACE(name_of(layout));
        expect_same(
            two_steps(layout,
                      {.alpha = 0.5, .kept = KeptPlace::host, .working = WorkingSet::windows}),
            two_steps(layout, MemoryPolicy{}));
    }
}

// The loss of the first step, which precedes any update, does not see what is rounded.
TEST_F(DeviceIdentity, InputsInFp8AreTheSameInWindows) {
    for (const Layout& layout : {Layout{.context = 256, .documents = kPacked},
                                 Layout{.ring = 2, .tensor = 2, .zero = 3}}) {
        SCOPED_TRACE(name_of(layout));
        const RigResult exact = two_steps(layout, MemoryPolicy{});
        MemoryPolicy memory{.keep = Keep::input, .alpha = 0.5, .kept = KeptPlace::host};
        memory.keep_precision = KeptPrecision::fp8;
        const RigResult whole = two_steps(layout, memory);
        EXPECT_EQ(whole.losses[0], exact.losses[0]);
        EXPECT_NE(whole.gradients, exact.gradients);
        memory.working = WorkingSet::windows;
        expect_same(two_steps(layout, memory), whole);
    }
}

// From stage 1 on weights travel as codes, which the device lays out.
TEST_F(DeviceIdentity, WeightsThatTravelAsCodesChangeNoBit) {
    RigConfig config = rig_of({.data = 2}, device_backend());
    config.steps = 2;
    config.linears = {.fp8 = true, .bf16_layers = 0};
    test::expect_zero_stages_change_no_bit(config, {1, 3});
}

// Compute restores codes from memory closed to the host.
TEST_F(DeviceIdentity, MessagesInFp8AreTheSameInWindows) {
    for (const Layout& layout : {Layout{.ulysses = 2}, Layout{.tensor = 2}}) {
        SCOPED_TRACE(name_of(layout));
        RigConfig config = rig_of(layout, device_backend());
        config.steps = 2;
        const RigResult exact = run_rig(config);
        config.messages = {MessageNumbers::fp8, MessageNumbers::fp8};
        const RigResult whole = run_rig(config);
        EXPECT_NE(whole.gradients, exact.gradients) << "nothing is rounded";
        config.memory.kept = KeptPlace::host;
        config.memory.working = WorkingSet::windows;
        expect_same(run_rig(config), whole);
    }
}

TEST_F(DeviceIdentity, ChunkSizeChangesNoBit) {
    for (const Layout& layout : {Layout{1, 1, 320}, Layout{1, 2, 256}}) {
        const RigResult small = two_steps(layout, 64, 0);
        expect_same(two_steps(layout, 128, 0), small);
        expect_same(two_steps(layout, 512, 0), small);
    }
}

// The counterpart of a CPU's thread count: the seed changes the order in which warps run.
TEST_F(DeviceIdentity, TheOrderInWhichWarpsRunChangesNoBit) {
    for (const Layout& layout : {Layout{1, 1, 192}, Layout{1, 3, 192}}) {
        const RigResult lock_step = two_steps(layout, 64, 0);
        expect_same(two_steps(layout, 64, 7), lock_step);
    }
}

class DeviceRun : public OnTheDevice {
protected:
    DeviceRun() {
        dir_.write("data/a.txt", test::some_text(1, 600));
        config_.spec.name = "test";
        config_.spec.precision = "bf16";
        config_.spec.model.preset = "micro";  // its sizes are these:
        config_.model = tiny_model();
        config_.model->vocabulary = 300;
        config_.spec.data = {{{dir_.file("data")}}, "text", "bytes", 0};
        config_.spec.stages = {
            {.context = 128, .batch = 128, .tokens = 2 * 128, .learning_rate = 3e-3}};
        config_.spec.memory.tile = 64;
        config_.plan.memory = {64, 128};
        config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    }
    // Returns the state after step 2.
    std::map<std::string, std::string> train(const std::string& name) {
        const test::TrainRun run = train_some(name);
        return run.outcome.ok() ? test::checkpoint_bytes(dir_.file(name) + "/e1-s2")
                                : std::map<std::string, std::string>();
    }
    test::TrainRun train_some(const std::string& name) {
        config_.checkpoint_dir = dir_.file(name);
        test::TrainRun run = test::run_training(config_, device_backend());
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        return run;
    }

    TempDir dir_;
    RankConfig config_;
};

TEST_F(DeviceRun, ACheckpointWrittenDuringTheNextStepChangesNoBit) {
    const auto without = train("without");
    config_.spec.checkpoint = {"", 1, 10};
    EXPECT_EQ(train("every-step"), without);
    config_.stop_after_steps = 1;
    train_some("stopped");
    EXPECT_EQ(test::checkpoint_bytes(dir_.file("every-step/e1-s1")),
              test::checkpoint_bytes(dir_.file("stopped/e1-s1")));
}

TEST_F(DeviceRun, SavingAndResumingChangesNoBit) {
    const auto straight = train("straight");
    config_.stop_after_steps = 1;
    train_some("resumed");
    config_.stop_after_steps = 0;
    EXPECT_EQ(train("resumed"), straight);
}

}  // namespace
}  // namespace rm
