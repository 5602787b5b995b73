// attention: 8bit: the forward pass rounds, and whatever moves data changes no bit of that.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/support/rig_checks.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

struct Case {
    std::string name;
    Mesh mesh;
    int zero = 0;
    std::int64_t context = 576;
};
void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

std::vector<Case> cases() {
    const auto mesh = [](int data, int ring, int ulysses, int tensor, int inner = 0) {
        return Mesh::make(data, ring, ulysses, tensor, inner).value();
    };
    return {{"one", mesh(1, 1, 1, 1)},
            {"data", mesh(2, 1, 1, 1)},
            {"ring", mesh(1, 3, 1, 1)},
            {"double_ring_zero2", mesh(1, 4, 1, 1, 2), 2},
            {"ulysses", mesh(1, 1, 2, 1)},
            {"tensor", mesh(1, 1, 1, 2)},
            {"all_zero3", mesh(2, 2, 2, 2), 3, 768},
            {"padded", mesh(1, 2, 2, 1), 0, 500}};
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
    config.model.num_kv_heads = 2;
    config.context = c.context;
    config.sequences = 2;
    config.steps = 0;
    config.tile = 64;
    config.chunk = 128;
    config.attention = AttentionNumbers::eight_bit;
    return config;
}

class Attention8 : public testing::TestWithParam<Case> {};

// r: without rounding, n: one rank in 8 bits, x: the mesh in 8 bits, all in fp64. Probabilities are
// rounded relative to the largest score so far, which a ring visits in another order, so x and n
// round some of them independently; those that see their largest score first round alike.
TEST_P(Attention8, IsAsNearToTheOracleOnEveryMesh) {
    RigConfig config = config_of(GetParam(), ref_backend());
    const RigResult x = run_rig(config);
    config.mesh = Mesh();
    config.zero = 0;
    const RigResult n = run_rig(config);
    config.attention = AttentionNumbers::compute;
    const RigResult r = run_rig(config);
    const double rounding = error_of(n, r);
    std::cout << "gradients differ by " << rounding << " from those without rounding, by "
              << error_of(x, n) << " from those of one rank\n";
    EXPECT_GT(rounding, 1e-3) << "nothing is rounded";
    EXPECT_LT(rounding, 0.1);
    EXPECT_LE(error_of(x, r), 1.25 * rounding);
    EXPECT_LE(error_of(x, n), rounding / 2);
}

TEST_P(Attention8, IsAsNearToTheOracleInWorkingPrecision) {
    RigConfig config = config_of(GetParam(), ref_backend());
    config.mesh = Mesh();
    config.zero = 0;
    const RigResult n = run_rig(config);
    config.attention = AttentionNumbers::compute;
    const RigResult r = run_rig(config);
    config = config_of(GetParam(), cpu_backend(1, DType::bf16));
    const RigResult x = run_rig(config);
    config.attention = AttentionNumbers::compute;
    const RigResult without = run_rig(config);
    expect_roundings_of_the_oracle(x, without, n, r);
}

TEST_P(Attention8, DoesNotDependOnMemory) {
    RigConfig config = config_of(GetParam(), cpu_backend(1, DType::bf16));
    config.steps = 2;
    expect_memory_changes_no_bit(config, 192);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Attention8, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
