#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/naive.h"
#include "tests/kernels/op_cases.h"

namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 7;

// A tensor core adds 16 products at a time to its f32 sum and truncates the result: up to an ulp
// each time. The longest sum of the cases has 1,041 products.
double truncations(const Factory& factory) {
    return factory.name == "cuda" ? 1041 / 16 + 1 : 0;
}

class EveryOp : public ::testing::TestWithParam<OpCase> {};

// The yardstick for an implementation that computes in `compute`.
struct Yardstick {
    Yardstick(const OpCase& op_case, DType compute) {
        const auto reference = make_ref_kernels();
        r = run_case(op_case, *reference, kSeed, compute);
        n = run_case(op_case, *naive_kernels(compute), kSeed, compute);
    }
    static std::unique_ptr<Kernels> naive_kernels(DType compute) {
        if (compute == DType::f64) return std::make_unique<NaiveKernels<double>>();
        if (compute == DType::f32) return std::make_unique<NaiveKernels<float>>();
        return std::make_unique<NaiveKernels<float, Bf16>>();
    }
    Outputs r, n;
};

TEST_P(EveryOp, IsAsCloseToTheOracleAsTheNaiveLoops) {
    std::map<DType, Yardstick> yardsticks;
    for (const Factory& factory : kernel_factories()) {
        if (!factory.takes(GetParam())) continue;
        SCOPED_TRACE(format("{}, seed {}", factory.name, kSeed));
        const auto kernels = factory.make();
        const DType compute = kernels->types().compute;
        const auto& [r, n] = yardsticks.try_emplace(compute, GetParam(), compute).first->second;
        expect_as_good_as_naive(run_case(GetParam(), *kernels, kSeed, compute), r, n,
                                truncations(factory));
    }
}

TEST_P(EveryOp, GivesTheSameBitsTwice) {
    for (const Factory& factory : kernel_factories()) {
        if (!factory.takes(GetParam())) continue;
        SCOPED_TRACE(factory.name);
        const auto kernels = factory.make();
        const Outputs first = run_case(GetParam(), *kernels, kSeed);
        expect_identical(run_case(GetParam(), *kernels, kSeed), first);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryOp, ::testing::ValuesIn(all_op_cases()),
                         [](const auto& info) { return info.param.name; });

// Shows that the suite can fail: it rejects a result that is further off than the naive one.
TEST(Tolerance, RejectsAnErrorBeyondTwiceTheNaiveOne) {
    static const Values kReference{std::vector<double>(300, 1.0), DType::f32};
    static Values naive = kReference, good = kReference, bad = kReference, broken = kReference;
    naive.numbers[5] += 1e-3;
    good.numbers[7] -= 1.9e-3;
    bad.numbers[7] -= 2.1e-3;
    broken.numbers[299] = std::numeric_limits<double>::quiet_NaN();
    const auto check = [](const Values& x) {
        expect_as_good_as_naive({{"y", x}}, {{"y", kReference}}, {{"y", naive}});
    };
    check(good);
    EXPECT_NONFATAL_FAILURE(check(bad), "element 7");
    EXPECT_NONFATAL_FAILURE(check(broken), "element 299");
}

}  // namespace
}  // namespace rm::test
