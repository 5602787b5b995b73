// A device whose memory the host cannot touch computes the same bits by the same schedule.
#include "kernels/closed_device.h"

#include <gtest/gtest.h>

#include "engine/checkpoint/durable_file.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using test::RigConfig;
using test::RigResult;

struct Layout {
    int data;
    int ring;
    std::int64_t context;  // 300: with padding
    DType compute;
};

class ClosedMemory : public testing::TestWithParam<Layout> {};

TEST_P(ClosedMemory, GivesTheBitsOfOpenMemory) {
    const auto [data, ring, context, compute] = GetParam();
    RigConfig config;
    config.mesh = Mesh::make(data, ring, 1, 1).value();
    config.model = test::small_model();
    config.context = context;
    config.sequences = 2;
    config.steps = 2;
    config.backend = test::cpu_backend(2, compute);
    const RigResult open = run_rig(config);
    config.backend = test::closed_cpu_backend(2, compute);
    const RigResult closed = run_rig(config);
    EXPECT_EQ(closed.losses, open.losses);
    EXPECT_EQ(closed.grad_norms, open.grad_norms);
    EXPECT_EQ(closed.gradients, open.gradients);
    EXPECT_EQ(closed.weights, open.weights);
    EXPECT_EQ(closed.ring_bytes, open.ring_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, ClosedMemory,
    testing::Values(Layout{1, 1, 300, DType::f32}, Layout{1, 1, 300, DType::bf16},
                    Layout{1, 2, 300, DType::bf16}, Layout{1, 3, 288, DType::f32},
                    Layout{2, 2, 300, DType::f32}, Layout{3, 1, 128, DType::bf16}),
    [](const auto& info) {
        return format("Data{}Ring{}{}", info.param.data, info.param.ring,
                      to_string(info.param.compute));
    });

class ClosedMemoryRun : public testing::Test {
protected:
    ClosedMemoryRun() {
        dir_.write("data/a.txt", test::some_text(1, 2000));
        config_ = test::micro_run(dir_.file("data"), 128, 6);
        config_.spec.evaluation = {0, 512};
        config_.spec.checkpoint = {"", 1, 30};
        config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    }
    // Returns the state after the last step; the run saved a checkpoint at every earlier step.
    std::map<std::string, std::string> train(const test::KernelsFactory& backend,
                                             const std::string& name) {
        config_.checkpoint_dir = dir_.file(name);
        const test::TrainRun run = test::run_training(config_, backend);
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        return test::checkpoint_bytes(
            format("{}/e1-s{}", dir_.file(name), config_.stop_after_steps > 0 ? 3 : 6));
    }
    TempDir dir_;
    RankConfig config_;
};

TEST_F(ClosedMemoryRun, SavesResumesAndExportsTheBitsOfOpenMemory) {
    config_.spec.exports.huggingface = dir_.file("from-open");
    const auto straight = train(test::cpu_backend(1), "open");
    config_.spec.exports.huggingface = dir_.file("from-closed");
    config_.stop_after_steps = 3;
    train(test::closed_cpu_backend(1), "closed");
    config_.stop_after_steps = 0;
    EXPECT_EQ(train(test::closed_cpu_backend(1), "closed"), straight);
    const auto contents = [&](const std::string& name) {
        return read_file(dir_.file(name) + "/model.safetensors").value();
    };
    EXPECT_EQ(contents("from-closed"), contents("from-open"));
}

TEST_F(ClosedMemoryRun, StartsFromADirectoryAsOpenMemoryDoes) {
    config_.spec.exports.huggingface = dir_.file("trained");
    train(test::cpu_backend(1), "first");
    config_.spec.exports.huggingface.clear();
    config_.spec.model = {"", dir_.file("trained")};
    const auto open = train(test::cpu_backend(1), "open");
    EXPECT_EQ(train(test::closed_cpu_backend(1), "closed"), open);
}

class SmallDevice : public ClosedMemoryRun {
protected:
    // The error of a run on devices of this memory.
    Error refused(Bytes memory) {
        static Bytes of_each;
        of_each = memory;
        const test::KernelsFactory backend = [] {
            return make_cpu_kernels({.num_threads = 1, .compute = DType::f32, .make_device = [] {
                                         return make_closed_device(of_each);
                                     }});
        };
        config_.checkpoint_dir = dir_.file("small");
        const test::TrainRun run = test::run_training(config_, backend);
        RM_CHECK(!run.outcome.ok(), "it trains in {}", memory);
        return run.outcome.error();
    }
};

TEST_F(SmallDevice, StateThatDoesNotFitIsRefusedWithBothFiguresBeforeAnythingIsAllocated) {
    const Error error = refused({std::int64_t{256} << 10});
    EXPECT_EQ(error.code, ErrorCode::resource_exhausted);
    EXPECT_NE(error.message.find("more of its device (emulated GPU), which has 256.0 KiB free of "
                                 "256.0 KiB"),
              std::string::npos)
        << error.message;
}

TEST_F(SmallDevice, AStepThatDoesNotFitBesideTheStateIsRefusedToo) {
    const Error error = refused({std::int64_t{3584} << 10});
    EXPECT_EQ(error.code, ErrorCode::resource_exhausted);
    EXPECT_NE(error.message.find(" of 3.5 MiB; "), std::string::npos) << error.message;
}

}  // namespace
}  // namespace rm
