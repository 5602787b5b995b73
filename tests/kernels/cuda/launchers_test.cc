#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "base/random.h"
#include "kernels/cuda/matmul/matmul.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/optimizer.cuh"
#include "kernels/emu/emu_kernels.h"
#include "tests/kernels/harness.h"
#include "tests/support/refusals.h"

namespace rm::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 3;

// Shapes only, at an address that is `offset` bytes from an aligned one.
TensorView at(std::int64_t offset, DType dtype, Shape shape) {
    return {reinterpret_cast<void*>(4096 + offset), dtype, shape};
}

int threads_for(std::int64_t C, std::int64_t offset = 0) {
    const TensorView x = at(offset, DType::bf16, {4, C});
    return cuda::pick_threads(RmsNormFwd{.x = x, .weight = at(0, DType::f32, {C}), .y = x});
}

TEST(Pick, KeepsARowInTheSmallestBlockThatHoldsIt) {
    EXPECT_EQ(threads_for(8), 32);
    EXPECT_EQ(threads_for(1024), 32);
    EXPECT_EQ(threads_for(1032), 64);
    EXPECT_EQ(threads_for(4096), 128);
    EXPECT_EQ(threads_for(16384), 512);
}

TEST(Pick, GoesElementByElementWhereVectorsDoNotFit) {
    EXPECT_EQ(threads_for(16392), 0) << "too wide";
    EXPECT_EQ(threads_for(1001), 0) << "rows that do not begin at 16 bytes";
    EXPECT_EQ(threads_for(1024, 2), 0) << "tensors that do not";
}

TEST(Pick, BoundsTheLogitsThatExistAtOnce) {
    EXPECT_EQ(cuda::pick_loss_rows(8192, 128256), 2048);
    EXPECT_EQ(cuda::pick_loss_rows(8192, 32000), 4096);
    EXPECT_EQ(cuda::pick_loss_rows(100, 32000), 128);
    EXPECT_EQ(cuda::pick_loss_rows(1, 1 << 30), 64);
}

struct FourPerSm {
    static constexpr int kMinBlocks = 4;
};

TEST(Pick, FillsTheDeviceOnceAndLaunchesNothingForNothing) {
    const GpuProfile profile{.num_sms = 10};
    EXPECT_EQ(cuda::pick_grid<FourPerSm>(1000000, 256, profile).x, 40);
    EXPECT_EQ(cuda::pick_grid<FourPerSm>(257, 256, profile).x, 2);
    EXPECT_EQ(cuda::pick_grid<FourPerSm>(0, 256, profile).x, 0);
}

TEST(DeviceKernels, TakeTensorsWithoutElements) {
    const auto emu = make_emu_kernels();
    Harness h(*emu, kSeed);
    const TensorView none = h.output(Role::compute, {1, 64}).rows(0, 0);
    emu->run(SwigluFwd{.gate = none, .up = none, .h = none}, h.stream());
    emu->run(FillZero{.x = none}, h.stream());
    const TensorView weight = h.input(Role::master, {64}), d_weight = h.input(Role::accum, {64});
    const std::vector<double> before = h.read(d_weight);
    const RmsNormBwd op{.d_y = none,
                        .x = none,
                        .weight = weight,
                        .rstd = h.output(Role::accum, {1}).rows(0, 0),
                        .d_x = none,
                        .d_weight = d_weight};
    emu->run(op, h.workspace(op), h.stream());
    EXPECT_EQ(h.read(d_weight), before);
}

TEST(DeviceKernels, SayWhichOperandIsWrong) {
    const auto emu = make_emu_kernels();
    Harness h(*emu, kSeed);
    const RmsNormFwd op{.x = h.input(Role::compute, {4, 16}),
                        .weight = h.input(Role::compute, {16}),
                        .y = h.output(Role::compute, {4, 16}),
                        .rstd = h.output(Role::accum, {4})};
    EXPECT_THAT(check_error_of([&] { emu->run(op, h.stream()); }),
                HasSubstr("rmsnorm_fwd: weight is (16) bf16, should be f32"));
}

TEST(DeviceKernels, RefuseAPreparedWeightOfAnotherSize) {
    const auto emu = make_emu_kernels();
    Harness h(*emu, kSeed);
    const LinearFwd op{.x = h.input(Role::compute, {4, 16}),
                       .weight = &h.prepared(8, 24),
                       .y = h.output(Role::compute, {4, 8})};
    EXPECT_THAT(check_error_of([&] { emu->run(op, {}, h.stream()); }),
                HasSubstr("linear_fwd: K is 16 in x but 24 in weight"));
}

TEST(MatrixProduct, IsCheckedBeforeItIsQueued) {
    const TensorView a(nullptr, DType::bf16, {4, 8}), b(nullptr, DType::bf16, {9, 5});
    const TensorView out(nullptr, DType::f32, {4, 5}), narrow(nullptr, DType::f64, {4, 5});
    EXPECT_THROW(cuda::check_product({.a = a, .b = b, .out = out}), CheckError);
    const TensorView good(nullptr, DType::bf16, {8, 5});
    EXPECT_NO_THROW(cuda::check_product({.a = a, .b = good, .out = out}));
    EXPECT_THROW(cuda::check_product({.a = a, .b = good, .out = narrow}), CheckError);
    EXPECT_THROW(cuda::check_product({.a = a, .b = good, .out = out, .a_stride = 7}), CheckError);
}

TEST(Explain, SaysEachChoiceOnce) {
    std::ostringstream lines;
    const auto emu = make_emu_kernels({.explain = &lines});
    Harness h(*emu, kSeed);
    const auto norm = [&](std::int64_t C) {
        const RmsNormFwd op{.x = h.input(Role::compute, {5, C}),
                            .weight = h.input(Role::master, {C}),
                            .y = h.output(Role::compute, {5, C}),
                            .rstd = h.output(Role::accum, {5})};
        emu->run(op, h.stream());
    };
    norm(64);
    norm(64);
    norm(65);
    h.stream().synchronize();
    EXPECT_EQ(lines.str(),
              "kernels: rmsnorm_fwd (T 5, C 64): rmsnorm_fwd, grid 5 x 1 x 1, 32 threads, 8 bytes "
              "shared\n"
              "kernels: rmsnorm_fwd (T 5, C 65): rmsnorm_fwd_any_row, grid 5 x 1 x 1, 256 threads, "
              "64 bytes shared\n");
}

TEST(Explain, IsAskedForByTopic) {
    const auto asked = [](const char* topics) {
        setenv("RM_EXPLAIN", topics, 1);
        const bool asked = explains("kernels");
        unsetenv("RM_EXPLAIN");
        return asked;
    };
    EXPECT_TRUE(asked("kernels"));
    EXPECT_TRUE(asked("plan,kernels"));
    EXPECT_FALSE(asked("kernels_of_truth,plan"));
    EXPECT_FALSE(explains("kernels"));
}

// A kernel cannot stop a job, so a wrong id shows as a loss that is not finite.
TEST(DeviceKernels, TurnTheLossOfAWrongTargetIntoNan) {
    const auto emu = make_emu_kernels();
    Harness h(*emu, kSeed);
    const LinearCrossEntropy op{.x = h.input(Role::compute, {3, 8}),
                                .head = &h.prepared(40, 8),
                                .targets = h.filled(Role::i32, {3}, 40),
                                .losses = h.output(Role::f64, {3}),
                                .loss_sum = h.filled(Role::f64, {1}, 0),
                                .d_x = h.output(Role::compute, {3, 8}),
                                .d_head = h.filled(Role::accum, {40, 8}, 0)};
    emu->run(op, h.workspace(op), h.stream());
    EXPECT_TRUE(std::isnan(h.read(op.losses)[1]));
    EXPECT_TRUE(std::isnan(h.read(op.loss_sum)[0]));
    EXPECT_TRUE(std::isnan(h.read(op.d_x)[0]));
}

TEST(DeviceKernels, TurnTheRowOfAWrongTokenIntoNan) {
    const auto emu = make_emu_kernels();
    Harness h(*emu, kSeed);
    const TensorView table = h.input(Role::master, {2, 8});
    const TensorView x = h.output(Role::compute, {4, 8});
    const TensorView d_table = h.filled(Role::accum, {2, 8}, 0);
    for (const auto& [token, rows] : {std::pair{-1, RowShare{}}, {9, {2, 9}}, {-1, {2, 9}}}) {
        const TensorView wrong = h.filled(Role::i32, {4}, token);
        emu->run(EmbeddingFwd{.tokens = wrong, .table = table, .x = x, .rows = rows}, h.stream());
        emu->run(EmbeddingBwd{.tokens = wrong, .d_x = x, .d_table = d_table, .rows = rows},
                 h.stream());
        for (const double number : h.read(x))
            EXPECT_TRUE(std::isnan(number));
        for (const double number : h.read(d_table))
            EXPECT_EQ(number, 0);
    }
}

TEST(DeviceKernels, TurnTheLossOfAWrongTargetIntoNanOnEveryRank) {
    const auto emu = make_emu_kernels();
    Harness h(*emu, kSeed);
    const RowShare rows{20, 40};  // the target is outside these and outside all
    const PreparedWeight& head = h.prepared(20, 8);
    const TensorView x = h.input(Role::compute, {3, 8}), wrong = h.filled(Role::i32, {3}, 40);
    const TensorView lse = h.output(Role::f64, {3}), losses = h.output(Role::f64, {3});
    const TensorView loss_sum = h.filled(Role::f64, {1}, 0);
    const HeadStatistics statistics{.x = x,
                                    .head = &head,
                                    .targets = wrong,
                                    .rows = rows,
                                    .statistics = h.output(Role::f64, {3, 3})};
    emu->run(statistics, h.workspace(statistics), h.stream());
    emu->run(CombineHeadStatistics{.parts = statistics.statistics.reshaped({1, 3, 3}),
                                   .targets = wrong,
                                   .lse = lse,
                                   .losses = losses,
                                   .loss_sum = loss_sum},
             h.stream());
    const HeadBwd bwd{.x = x,
                      .head = &head,
                      .targets = wrong,
                      .rows = rows,
                      .lse = lse,
                      .d_x = h.output(Role::compute, {3, 8}),
                      .d_head = h.filled(Role::accum, {20, 8}, 0)};
    emu->run(bwd, h.workspace(bwd), h.stream());
    EXPECT_TRUE(std::isnan(h.read(losses)[1]));
    EXPECT_TRUE(std::isnan(h.read(loss_sum)[0]));
    EXPECT_TRUE(std::isnan(h.read(bwd.d_x)[0]));
    EXPECT_TRUE(std::isnan(h.read(bwd.d_head)[0]));
}

TEST(DeviceRandom, IsThatOfTheHost) {
    for (const std::uint64_t x : {0ull, 1ull, 0x9e3779b97f4a7c15ull, ~0ull})
        EXPECT_EQ(device::mix64(x), mix64(x));
}

}  // namespace
}  // namespace rm::test
