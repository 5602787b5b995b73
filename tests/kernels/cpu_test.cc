#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/harness.h"
#include "tests/support/refusals.h"

namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 5;
constexpr std::int64_t kTile = 64;

// Runs the ops that sum weight gradients over tokens, `tile` tokens per call.
Outputs run_sums_over_tokens(Kernels& kernels, std::int64_t tile) {
    constexpr std::int64_t kTokens = 300, kRows = 90, kColumns = 70;
    Harness h(kernels, kSeed);
    const TensorView x = h.input(Role::compute, {kTokens, kColumns});
    const TensorView d_y = h.input(Role::compute, {kTokens, kRows});
    const TensorView d_weight = h.input(Role::accum, {kRows, kColumns});
    const TensorView norm = h.input(Role::master, {kColumns});
    const TensorView rstd = h.input(Role::accum, {kTokens});
    const TensorView d_x = h.input(Role::compute, {kTokens, kColumns});
    const TensorView d_norm = h.input(Role::accum, {kColumns});
    const PreparedWeight& head = h.prepared(kRows, kColumns);
    const TensorView targets = h.tokens(kTokens, kRows);
    const TensorView losses = h.output(Role::f64, {kTokens});
    const TensorView loss_sum = h.filled(Role::f64, {1}, 0);
    const TensorView d_hidden = h.output(Role::compute, {kTokens, kColumns});
    const TensorView d_head = h.input(Role::accum, {kRows, kColumns});
    const TensorView d_table = h.input(Role::accum, {kRows, kColumns});
    for (std::int64_t t = 0; t < kTokens; t += tile) {
        const auto rows = [&](const TensorView& all) {
            return all.rows(t, std::min(tile, kTokens - t));
        };
        const LinearBwdWeight linear{.d_y = rows(d_y), .x = rows(x), .d_weight = d_weight};
        kernels.run(linear, h.workspace(linear), h.stream());
        const RmsNormBwd rmsnorm{.d_y = rows(x),
                                 .x = rows(x),
                                 .weight = norm,
                                 .rstd = rows(rstd),
                                 .d_x = rows(d_x),
                                 .d_weight = d_norm};
        kernels.run(rmsnorm, h.workspace(rmsnorm), h.stream());
        const LinearCrossEntropy loss{.x = rows(x),
                                      .head = &head,
                                      .targets = rows(targets),
                                      .scale = 0.01,
                                      .losses = rows(losses),
                                      .loss_sum = loss_sum,
                                      .d_x = rows(d_hidden),
                                      .d_head = d_head};
        kernels.run(loss, h.workspace(loss), h.stream());
        kernels.run(EmbeddingBwd{.tokens = rows(targets), .d_x = rows(x), .d_table = d_table},
                    h.stream());
    }
    h.keep("d_weight", d_weight);
    h.keep("d_x", d_x);
    h.keep("d_norm", d_norm);
    h.keep("losses", losses);
    h.keep("loss_sum", loss_sum);
    h.keep("d_hidden", d_hidden);
    h.keep("d_head", d_head);
    h.keep("d_table", d_table);
    return h.outputs();
}

// Does the same for the head's ops with the vocabulary cut; this rank has its first rows.
Outputs run_head_over_tokens(Kernels& kernels, std::int64_t tile) {
    constexpr std::int64_t kTokens = 300, kRows = 50, kAllRows = 90, kColumns = 70;
    const RowShare share{0, kAllRows};
    Harness h(kernels, kSeed);
    const TensorView x = h.input(Role::compute, {kTokens, kColumns});
    const TensorView targets = h.tokens(kTokens, kAllRows, kIgnoreTarget);
    const PreparedWeight& head = h.prepared(kRows, kColumns);
    const TensorView statistics = h.output(Role::f64, {kTokens, 3});
    const TensorView lse = h.output(Role::f64, {kTokens});
    const TensorView losses = h.output(Role::f64, {kTokens});
    const TensorView loss_sum = h.filled(Role::f64, {1}, 0);
    const TensorView d_x = h.output(Role::compute, {kTokens, kColumns});
    const TensorView d_head = h.input(Role::accum, {kRows, kColumns});
    for (std::int64_t t = 0; t < kTokens; t += tile) {
        const std::int64_t count = std::min(tile, kTokens - t);
        const auto rows = [&](const TensorView& all) { return all.rows(t, count); };
        const HeadStatistics forward{rows(x), &head, rows(targets), share, rows(statistics)};
        kernels.run(forward, h.workspace(forward), h.stream());
        kernels.run(CombineHeadStatistics{rows(statistics).reshaped({1, count, 3}), rows(targets),
                                          rows(lse), rows(losses), loss_sum},
                    h.stream());
        const HeadBwd backward{rows(x),   &head, rows(targets), share,
                               rows(lse), 0.01,  rows(d_x),     d_head};
        kernels.run(backward, h.workspace(backward), h.stream());
    }
    h.keep("statistics", statistics);
    h.keep("lse", lse);
    h.keep("losses", losses);
    h.keep("loss_sum", loss_sum);
    h.keep("d_x", d_x);
    h.keep("d_head", d_head);
    return h.outputs();
}

// cuBLASLt sums a product over tokens in its own order, so the gradients of weights may differ by
// the roundings of its sums, one for 16 tokens and one for each part.
void expect_near(const Values& x, const Values& whole) {
    double largest = 0;
    for (const double number : whole.numbers)
        largest = std::max(largest, std::abs(number));
    const double ulp = std::ldexp(1.0, std::ilogb(largest) - 23);
    constexpr int kRoundings = 300 / 16 + 1 + 300 / kTile + 1;
    for (std::size_t i = 0; i < whole.numbers.size(); ++i)
        EXPECT_NEAR(x.numbers[i], whole.numbers[i], kRoundings * ulp) << i;
}

class SumsOverTokens : public ::testing::TestWithParam<Factory> {
protected:
    static void expect_same(const Outputs& x, const Outputs& whole) {
        if (GetParam().name != "cuda") return expect_identical(x, whole);
        ASSERT_EQ(x.size(), whole.size());
        for (const auto& [name, values] : x) {
            SCOPED_TRACE(name);
            const bool is_product = name == "d_weight" || name == "d_head";
            if (is_product) {
                expect_near(values, whole.at(name));
            } else {
                expect_identical({{name, values}}, {{name, whole.at(name)}});
            }
        }
    }
};

TEST_P(SumsOverTokens, MayBeCutAtTiles) {
    const auto kernels = GetParam().make();
    const Outputs whole = run_sums_over_tokens(*kernels, 1000);
    expect_same(run_sums_over_tokens(*kernels, kTile), whole);
    expect_same(run_sums_over_tokens(*kernels, 3 * kTile), whole);
}

TEST_P(SumsOverTokens, OfAHeadInPartsMayBeCutAtTiles) {
    const auto kernels = GetParam().make();
    const Outputs whole = run_head_over_tokens(*kernels, 1000);
    expect_same(run_head_over_tokens(*kernels, kTile), whole);
    expect_same(run_head_over_tokens(*kernels, 3 * kTile), whole);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SumsOverTokens, ::testing::ValuesIn(kernel_factories()),
                         [](const auto& info) { return info.param.name; });

// Runs a linear layer forward and backward `repeats` times on its own stream.
class Worker {
public:
    explicit Worker(Kernels& kernels) : h_(kernels, kSeed), kernels_(kernels) {}
    void queue(int repeats) {
        for (int i = 0; i < repeats; ++i) {
            kernels_.run(fwd_, fwd_space_, h_.stream());
            kernels_.run(bwd_, bwd_space_, h_.stream());
        }
        h_.keep("y", fwd_.y);
        h_.keep("d_x", bwd_.d_x);
    }
    Outputs outputs() { return h_.outputs(); }

private:
    Harness h_;
    Kernels& kernels_;
    const PreparedWeight& weight_ = h_.prepared(192, 160);
    LinearFwd fwd_{.x = h_.input(Role::compute, {500, 160}),
                   .weight = &weight_,
                   .y = h_.output(Role::compute, {500, 192})};
    LinearBwdInput bwd_{
        .d_y = fwd_.y, .weight = &weight_, .d_x = h_.output(Role::compute, {500, 160})};
    Workspace fwd_space_ = h_.workspace(fwd_);
    Workspace bwd_space_ = h_.workspace(bwd_);
};

TEST(CpuKernels, MayBeUsedFromTwoStreamsAtOnce) {
    const auto kernels = make_cpu_kernels({.num_threads = 2});
    Worker alone(*kernels);
    alone.queue(1);
    const Outputs expected = alone.outputs();
    Worker a(*kernels), b(*kernels);
    a.queue(20);
    b.queue(20);
    expect_identical(a.outputs(), expected);
    expect_identical(b.outputs(), expected);
}

std::ptrdiff_t num_threads_of_process() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Two ranks of one thread each use two threads: the matrix library adds none.
TEST(CpuKernels, UseNoThreadsButTheirStreams) {
    const std::ptrdiff_t before = num_threads_of_process();
    const auto first = make_cpu_kernels({.num_threads = 1});
    const auto second = make_cpu_kernels({.num_threads = 1});
    Worker a(*first), b(*second);
    a.queue(5);
    b.queue(5);
    expect_identical(a.outputs(), b.outputs());
    EXPECT_EQ(num_threads_of_process(), before + 2);
}

TEST(CpuKernels, MeasureTheirPeak) {
    for (const DType compute : {DType::f32, DType::bf16})
        EXPECT_GT(measure_cpu_peak_flops({.num_threads = 1, .compute = compute}), 1e8);
}

TEST(CpuKernels, PlanTheBytesOfAPreparedWeight) {
    for (const Factory& factory : kernel_factories()) {
        SCOPED_TRACE(factory.name);
        const auto kernels = factory.make();
        const auto weight = kernels->make_prepared(70, 131, WeightForm::compute);
        EXPECT_EQ(kernels->device().allocated(MemoryKind::weights),
                  kernels->prepared_bytes(70, 131, WeightForm::compute));
    }
}

TEST(CpuKernels, KeepWeightsOfBf16InHalfTheBytes) {
    const auto f32 = make_cpu_kernels({.code = CpuCode::own_base});
    const auto bf16 = make_cpu_kernels({.code = CpuCode::own_base, .compute = DType::bf16});
    EXPECT_EQ(bf16->prepared_bytes(64, 64, WeightForm::compute).value * 2,
              f32->prepared_bytes(64, 64, WeightForm::compute).value);
}

TEST(CpuKernels, RefuseOperandsOfAnotherType) {
    const auto kernels = make_cpu_kernels({.compute = DType::bf16});
    Harness h(*kernels, kSeed);
    const LinearFwd op{.x = h.input(Role::accum, {4, 3}),
                       .weight = &h.prepared(2, 3),
                       .y = h.output(Role::compute, {4, 2})};
    EXPECT_THAT(check_error_of([&] { kernels->run(op, h.workspace(op), h.stream()); }),
                ::testing::HasSubstr("linear_fwd: x is (4, 3) f32, should be bf16"));
    EXPECT_THROW(make_cpu_kernels({.compute = DType::f64}), CheckError);
}

}  // namespace
}  // namespace rm::test
