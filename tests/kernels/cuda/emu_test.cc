#include <gtest/gtest.h>

#include "kernels/emu/emu_kernels.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/cuda/device_cases.h"
#include "tests/kernels/naive.h"
#include "tests/support/some_cases.h"

// Runs every device kernel under the emulator, on eight schedules.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::uint64_t kNumSchedules = 8;

Outputs run_emulated(const OpCase& op_case, const EmuOptions& options = {}) {
    return run_case(op_case, *make_emu_kernels(options), kSeed, DType::bf16);
}

std::vector<OpCase> operator+(std::vector<OpCase> cases, const std::vector<OpCase>& others) {
    cases.insert(cases.end(), others.begin(), others.end());
    return cases;
}
std::vector<OpCase> taken_op_cases() {
    std::vector<OpCase> cases = all_op_cases();
    std::erase_if(cases, [](const OpCase& op_case) { return !device_takes(op_case); });
    return cases;
}

std::string name_of(const ::testing::TestParamInfo<OpCase>& info) {
    return info.param.name;
}

class EveryDeviceKernel : public ::testing::TestWithParam<OpCase> {};

TEST_P(EveryDeviceKernel, IsAsCloseToTheOracleAsTheNaiveLoops) {
    NaiveKernels<float, Bf16> naive;
    const Outputs r = run_case(GetParam(), *make_ref_kernels(), kSeed, DType::bf16);
    const Outputs n = run_case(GetParam(), naive, kSeed, DType::bf16);
    expect_as_good_as_naive(run_emulated(GetParam()), r, n);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryDeviceKernel,
                         ::testing::ValuesIn(device_cases() + large_device_cases() +
                                             taken_op_cases()),
                         name_of);

class EverySchedule : public ::testing::TestWithParam<OpCase> {};

TEST_P(EverySchedule, GivesTheSameBits) {
    const Outputs lock_step = run_emulated(GetParam());
    for (std::uint64_t seed = 1; seed < kNumSchedules; ++seed) {
        SCOPED_TRACE(format("schedule {}", seed));
        expect_identical(run_emulated(GetParam(), {.seed = seed}), lock_step);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EverySchedule,
                         ::testing::ValuesIn(some(device_cases() + taken_op_cases())), name_of);

// The size of a device decides how work is distributed, never the result.
class EveryDevice : public ::testing::TestWithParam<OpCase> {};

TEST_P(EveryDevice, GivesTheSameBits) {
    expect_identical(run_emulated(GetParam(), {.profile = {.num_sms = 1}}),
                     run_emulated(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryDevice, ::testing::ValuesIn(device_cases()), name_of);

}  // namespace
}  // namespace rm::test
