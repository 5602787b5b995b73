#include <gtest/gtest.h>

#include "kernels/emu/emu_kernels.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/cuda/device_cases.h"
#include "tests/kernels/naive.h"

// Every device kernel under the emulator, on eight schedules.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::uint64_t kNumSchedules = 8;

std::vector<OpCase> cases() {
    std::vector<OpCase> cases = device_cases();
    for (const OpCase& op_case : all_op_cases()) {
        if (device_takes(op_case)) cases.push_back(op_case);
    }
    return cases;
}

class EveryDeviceKernel : public ::testing::TestWithParam<OpCase> {};

TEST_P(EveryDeviceKernel, IsAsCloseToTheOracleAsTheNaiveLoops) {
    const auto reference = make_ref_kernels();
    NaiveKernels<float, Bf16> naive;
    const Outputs r = run_case(GetParam(), *reference, kSeed, DType::bf16);
    const Outputs n = run_case(GetParam(), naive, kSeed, DType::bf16);
    const auto emu = make_emu_kernels();
    expect_as_good_as_naive(run_case(GetParam(), *emu, kSeed, DType::bf16), r, n);
}

TEST_P(EveryDeviceKernel, GivesTheSameBitsOnEverySchedule) {
    const Outputs lock_step = run_case(GetParam(), *make_emu_kernels(), kSeed, DType::bf16);
    for (std::uint64_t seed = 1; seed < kNumSchedules; ++seed) {
        SCOPED_TRACE(format("schedule {}", seed));
        const auto emu = make_emu_kernels({.seed = seed});
        expect_identical(run_case(GetParam(), *emu, kSeed, DType::bf16), lock_step);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryDeviceKernel, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// What the sizes of a device decide is how work is spread, never what is computed.
TEST_P(EveryDeviceKernel, GivesTheSameBitsOnASmallerDevice) {
    const auto small = make_emu_kernels({.profile = {.num_sms = 3}});
    expect_identical(run_case(GetParam(), *small, kSeed, DType::bf16),
                     run_case(GetParam(), *make_emu_kernels(), kSeed, DType::bf16));
}

}  // namespace
}  // namespace rm::test
