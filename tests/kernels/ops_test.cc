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

class EveryOp : public ::testing::TestWithParam<OpCase> {};

TEST_P(EveryOp, IsAsCloseToTheOracleAsTheNaiveLoops) {
    const auto reference = make_ref_kernels();
    NaiveKernels<double> naive64;
    NaiveKernels<float> naive32;
    const Outputs r = run_case(GetParam(), *reference, kSeed);
    const Outputs n64 = run_case(GetParam(), naive64, kSeed);
    const Outputs n32 = run_case(GetParam(), naive32, kSeed);
    for (const Factory& factory : kernel_factories()) {
        SCOPED_TRACE(format("{}, seed {}", factory.name, kSeed));
        const auto kernels = factory.make();
        const bool is_f64 = kernels->types().compute == DType::f64;
        expect_as_good_as_naive(run_case(GetParam(), *kernels, kSeed), r, is_f64 ? n64 : n32);
    }
}

TEST_P(EveryOp, GivesTheSameBitsTwice) {
    for (const Factory& factory : kernel_factories()) {
        SCOPED_TRACE(factory.name);
        const auto kernels = factory.make();
        const Outputs first = run_case(GetParam(), *kernels, kSeed);
        expect_identical(run_case(GetParam(), *kernels, kSeed), first);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryOp, ::testing::ValuesIn(all_op_cases()),
                         [](const auto& info) { return info.param.name; });

// The suite can fail: a result that is off by more than the naive one is noticed.
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
