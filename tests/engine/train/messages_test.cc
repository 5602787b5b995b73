// messages: what travels as codes is rounded, and nothing else changes a bit.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/support/rig_checks.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

constexpr MessageSpec kUlysses{.ulysses = MessageNumbers::fp8};
constexpr MessageSpec kTensor{.tensor = MessageNumbers::fp8};
constexpr MessageSpec kBoth{MessageNumbers::fp8, MessageNumbers::fp8};

struct Case {
    std::string name;
    Mesh mesh;
    MessageSpec messages;
    int zero = 0;
    std::int64_t kv_heads = 2;
    std::int64_t context = 512;
};
void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

std::vector<Case> cases() {
    const auto mesh = [](int data, int ring, int ulysses, int tensor) {
        return Mesh::make(data, ring, ulysses, tensor).value();
    };
    return {{"ulysses", mesh(1, 1, 2, 1), kUlysses},
            {"ulysses_shared_heads", mesh(1, 1, 4, 1), kUlysses, 0, 1},
            {"ring_ulysses_padded", mesh(1, 2, 2, 1), kUlysses, 2, 2, 500},
            {"tensor", mesh(1, 1, 1, 2), kTensor},
            {"tensor_shared_heads", mesh(1, 1, 1, 4), kTensor, 0, 1},
            {"all_zero3", mesh(2, 2, 2, 2), kBoth, 3}};
}

RigConfig config_of(const Case& c, const KernelsFactory& backend) {
    RigConfig config;
    config.backend = backend;
    config.mesh = c.mesh;
    config.zero = c.zero;
    config.model = small_model();
    config.model.hidden = 32;
    config.model.head_dim = 16;
    config.model.num_query_heads = 4;
    config.model.num_kv_heads = c.kv_heads;
    config.context = c.context;
    config.sequences = 2;
    config.steps = 0;
    config.tile = 64;
    config.chunk = 128;
    config.messages = c.messages;
    return config;
}

class Messages : public testing::TestWithParam<Case> {};

// A code of e4m3 is off by 2^-4 of its number at most, about 2.6 % in the mean square; gradients
// see that of some ten messages a layer. Linears in FP8 may make 0.3 of them (fp8_test.cc).
TEST_P(Messages, AreRoundedOnTheOracle) {
    RigConfig config = config_of(GetParam(), ref_backend());
    const RigResult rounded = run_rig(config);
    config.messages = {};
    const RigResult exact = run_rig(config);
    const double error = error_of(rounded, exact);
    const double of_loss = std::abs(rounded.losses[0] / exact.losses[0] - 1);
    std::cout << "gradients differ by " << error << ", the loss by " << of_loss << "\n";
    EXPECT_GT(error, 1e-3) << "nothing is rounded";
    EXPECT_LT(error, 0.2);
    EXPECT_LT(of_loss, 5e-3);
}

// In working precision: as near to the oracle's codes as these are to no rounding.
TEST_P(Messages, AreThoseOfTheOracleInWorkingPrecision) {
    RigConfig config = config_of(GetParam(), ref_backend());
    const RigResult n = run_rig(config);
    config.messages = {};
    const RigResult r = run_rig(config);
    for (const DType type : {DType::f32, DType::bf16}) {
        config = config_of(GetParam(), cpu_backend(1, type));
        const RigResult x = run_rig(config);
        config.messages = {};
        const RigResult without = run_rig(config);
        SCOPED_TRACE(to_string(type));
        expect_roundings_of_the_oracle(x, without, n, r);
    }
}

// Rows are rounded alone, so neither chunks nor windows nor recomputation change a code.
TEST_P(Messages, DoNotDependOnMemory) {
    RigConfig config = config_of(GetParam(), cpu_backend(1, DType::bf16));
    config.steps = 2;
    expect_memory_changes_no_bit(config, 256);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Messages, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

// A group of one sends nothing.
TEST(Messages, OfGroupsOfOneChangeNoBit) {
    const Case c{"", Mesh::make(2, 2, 1, 1).value(), kBoth};
    RigConfig config = config_of(c, cpu_backend(1, DType::bf16));
    config.steps = 2;
    const RigResult rounded = run_rig(config);
    config.messages = {};
    expect_same_bits(rounded, run_rig(config), "group of one");
}

TEST(Messages, HaveTheSameBitsAtEveryZeroStage) {
    const Case c{"", Mesh::make(2, 1, 2, 2).value(), kBoth};
    RigConfig config = config_of(c, cpu_backend(1, DType::bf16));
    config.sequences = 2;
    config.steps = 2;
    expect_zero_stages_change_no_bit(config);
}

}  // namespace
}  // namespace rm::test
