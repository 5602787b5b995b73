#include <gtest/gtest.h>

#include "kernels/emu/emu_kernels.h"
#include "tests/kernels/cuda/device_cases.h"

// Runs every kernel except attention once, for the thread sanitizer; a report fails the program.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 5;

std::vector<OpCase> cases() {
    std::vector<OpCase> cases = device_cases();
    const std::vector<OpCase> tokens = token_cases();
    cases.insert(cases.end(), tokens.begin(), tokens.end());
    return cases;
}

class Races : public ::testing::TestWithParam<OpCase> {};

TEST_P(Races, AreNone) {
    run_case(GetParam(), *make_emu_kernels(), kSeed, DType::bf16);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Races, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
