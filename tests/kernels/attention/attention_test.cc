#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/naive.h"
#include "tests/kernels/op_cases.h"

namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 17;

std::unique_ptr<Kernels> naive_kernels(DType compute) {
    if (compute == DType::f64) return std::make_unique<NaiveKernels<double>>();
    if (compute == DType::f32) return std::make_unique<NaiveKernels<float>>();
    return std::make_unique<NaiveKernels<float, Bf16>>();
}

double largest_difference(const Values& x, const Values& r) {
    double largest = 0;
    for (std::size_t i = 0; i < r.numbers.size(); ++i)
        largest = std::max(largest, std::abs(x.numbers[i] - r.numbers[i]));
    return largest;
}
double largest(const Values& x) {
    double largest = 0;
    for (const double number : x.numbers)
        largest = std::max(largest, std::abs(number));
    return largest;
}

class ExtremeScores : public ::testing::TestWithParam<Factory> {};

// Scores in the hundreds round far more coarsely than the products behind them, and the point at
// which a backend scales them decides where. So the naive loops give only the order of the error.
TEST_P(ExtremeScores, GiveFiniteResultsAsGoodAsTheScoresAllow) {
    const auto kernels = GetParam().make();
    const DType compute = kernels->types().compute;
    for (const OpCase& op_case : extreme_attention_cases()) {
        if (!GetParam().takes(op_case)) continue;
        const Outputs r = run_case(op_case, *make_ref_kernels(), kSeed, compute);
        const Outputs n = run_case(op_case, *naive_kernels(compute), kSeed, compute);
        for (const auto& [name, x] : run_case(op_case, *kernels, kSeed, compute)) {
            SCOPED_TRACE(format("{} of {}, seed {}", name, op_case.name, kSeed));
            for (const double number : x.numbers)
                ASSERT_TRUE(std::isfinite(number));
            const double unit = compute == DType::bf16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -24);
            const double tolerance =
                8 * (largest_difference(n.at(name), r.at(name)) + unit * largest(r.at(name)));
            EXPECT_LE(largest_difference(x, r.at(name)), tolerance);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ExtremeScores, ::testing::ValuesIn(kernel_factories()),
                         [](const auto& info) { return info.param.name; });

TEST(AttentionWorkspace, DoesNotGrowWithTheTokens) {
    for (const Factory& factory : kernel_factories()) {
        SCOPED_TRACE(factory.name);
        const auto kernels = factory.make();
        const auto bytes = [&](std::int64_t T) {
            const TensorView x(nullptr, kernels->types().compute, {T, 4, 64});
            const AttentionFwd fwd{.q = x, .k = x, .v = x};
            const AttentionBwd bwd{.q = x, .k = x, .v = x};
            const AttentionFwd8 fwd8{.q = x, .k = x, .v = x};
            return kernels->workspace_bytes(fwd).value + kernels->workspace_bytes(fwd8).value +
                   kernels->workspace_bytes(bwd).value;
        };
        EXPECT_EQ(bytes(1 << 20), bytes(1 << 10));
    }
}

}  // namespace
}  // namespace rm::test
