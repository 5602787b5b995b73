// Options that keep less for the backward pass: the inputs of every k-th layer only, which changes
// no bit.
#include <gtest/gtest.h>

#include "tests/support/rank_rig.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

struct KeepCase {
    std::string name;
    Mesh mesh;
    MemoryPolicy policy;
    int zero = 0;
    bool host_state = false;
    std::int64_t block = 0;  // elements of embedding and head that travel together
};
void PrintTo(const KeepCase& c, std::ostream* out) {
    *out << c.name;
}

RigConfig config_of(const KeepCase& c) {
    RigConfig config;
    config.backend = cpu_backend(1, DType::bf16);
    if (c.host_state) config.host = cpu_backend(1);
    config.mesh = c.mesh;
    config.zero = c.zero;
    config.vocabulary_block = c.block;
    config.model = small_model();
    config.model.num_layers = 5;
    config.context = 768;
    config.sequences = 2;
    config.steps = 2;
    config.tile = 64;
    config.chunk = 128;
    config.memory = c.policy;
    return config;
}

MemoryPolicy policy(KeptPlace kept, WorkingSet working, Keep keep, double alpha) {
    MemoryPolicy p;
    p.kept = kept;
    p.working = working;
    p.keep = keep;
    p.alpha = alpha;
    return p;
}

std::vector<KeepCase> cases() {
    const MemoryPolicy device = {};
    const auto whole = policy(KeptPlace::host, WorkingSet::whole, Keep::input_and_attention, 0.5);
    const auto windows = policy(KeptPlace::host, WorkingSet::windows, Keep::input, 0.5);
    const auto windows_out =
        policy(KeptPlace::host, WorkingSet::windows, Keep::input_and_attention, 1);
    const auto mesh = [](int data, int ring, int ulysses, int tensor) {
        return Mesh::make(data, ring, ulysses, tensor).value();
    };
    return {
        {"one_device", mesh(1, 1, 1, 1), device},
        {"one_host", mesh(1, 1, 1, 1), whole},
        {"one_windows", mesh(1, 1, 1, 1), windows},
        {"one_windows_attention", mesh(1, 1, 1, 1), windows_out},
        {"ring_device", mesh(1, 3, 1, 1), device},
        {"ring_ulysses_windows", mesh(1, 2, 2, 1), windows_out, 2},
        {"tensor_ring_host", mesh(1, 2, 1, 2), whole, 3},
        {"data_zero3", mesh(2, 1, 1, 1), device, 3},
        {"data_zero3_blocks", mesh(2, 1, 1, 1), windows, 3, false, 512},
        {"host_state", mesh(1, 1, 1, 1), device, 2, true},
        {"host_state_zero3", mesh(2, 1, 2, 1), whole, 3, true},
    };
}

class KeepEvery : public testing::TestWithParam<KeepCase> {};

// Groups of two, of three and two, of four and one, and all layers in one.
TEST_P(KeepEvery, TrainsToTheSameBits) {
    RigConfig config = config_of(GetParam());
    const RigResult all = run_rig(config);
    for (const int every : {2, 3, 4, 5}) {
        config.memory.keep_every = every;
        const RigResult fewer = run_rig(config);
        EXPECT_EQ(fewer.losses, all.losses) << every;
        EXPECT_EQ(fewer.grad_norms, all.grad_norms) << every;
        EXPECT_EQ(fewer.gradients, all.gradients) << every;
        EXPECT_EQ(fewer.weights, all.weights) << every;
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, KeepEvery, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

// The ring's bytes of the forward pass, once more for each layer of all groups but the last.
TEST(KeepEveryLayer, SendsTheForwardPassOnceMoreAlongTheRing) {
    RigConfig config = config_of({"", Mesh::make(1, 3, 1, 1).value(), {}});
    const std::int64_t all = run_rig(config).ring_bytes[0];
    const std::int64_t slot = config.context / 3, kv_heads = config.model.num_kv_heads;
    const std::int64_t hop = 2 * slot * kv_heads * config.model.head_dim * 2;
    const std::int64_t micro_batches = config.sequences * config.steps;
    config.memory.keep_every = 2;  // groups of 2, 2 and 1 layers
    EXPECT_EQ(run_rig(config).ring_bytes[0] - all, micro_batches * 4 * (3 - 1) * hop);
}

}  // namespace
}  // namespace rm::test
