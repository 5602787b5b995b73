// Options that keep less for the backward pass: the inputs of every k-th layer only, which changes
// no bit, and inputs in a narrower type, which the loss of a step does not see.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

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

std::vector<KeepCase> cases() {
    const MemoryPolicy device = {};
    const auto whole =
        policy_of(KeptPlace::host, WorkingSet::whole, Keep::input_and_attention, 0.5);
    const auto windows = policy_of(KeptPlace::host, WorkingSet::windows, Keep::input, 0.5);
    const auto windows_out =
        policy_of(KeptPlace::host, WorkingSet::windows, Keep::input_and_attention, 1);
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

RigConfig rounded(KeptPrecision precision, WorkingSet working, DType compute) {
    KeepCase c{"", Mesh(), policy_of(KeptPlace::host, working, Keep::input, 0.5)};
    c.policy.keep_precision = precision;
    RigConfig config = config_of(c);
    config.backend = cpu_backend(1, compute);
    return config;
}

void expect_same(const RigResult& a, const RigResult& b) {
    EXPECT_EQ(a.losses, b.losses);
    EXPECT_EQ(a.grad_norms, b.grad_norms);
    EXPECT_EQ(a.gradients, b.gradients);
    EXPECT_EQ(a.weights, b.weights);
}

constexpr WorkingSet kWorking[] = {WorkingSet::whole, WorkingSet::windows};

TEST(KeptPrecision, OfTheComputeTypeRoundsNothing) {
    for (const WorkingSet working : kWorking) {
        const RigResult exact = run_rig(rounded(KeptPrecision::compute, working, DType::bf16));
        expect_same(run_rig(rounded(KeptPrecision::bf16, working, DType::bf16)), exact);
        RigConfig on_device = rounded(KeptPrecision::fp8, working, DType::bf16);
        on_device.memory.kept = KeptPlace::device;
        on_device.memory.working = WorkingSet::whole;
        expect_same(run_rig(on_device), exact);
    }
}

// The kind of a parameter: its name without the number of its layer.
std::string kind_of(const std::string& name) {
    std::string kind;
    for (const char c : name) {
        if (c < '0' || c > '9') kind += c;
    }
    return kind;
}

// The largest relative error of gradients, by kind of parameter.
std::map<std::string, double> gradient_errors(const RigResult& a, const RigResult& b) {
    std::map<std::string, double> errors;
    for (const auto& [name, values] : b.gradients) {
        double& worst = errors[kind_of(name)];
        worst = std::max(worst, norm_difference(a.gradients.at(name), values) / norm(values));
    }
    return errors;
}

double worst_gradient(const RigResult& a, const RigResult& b) {
    double worst = 0;
    for (const auto& [kind, error] : gradient_errors(a, b))
        worst = std::max(worst, error);
    return worst;
}

RigResult first_step(RigConfig config, KeptPrecision precision, int keep_every) {
    config.steps = 0;
    config.memory.keep_precision = precision;
    config.memory.keep_every = keep_every;
    return run_rig(config);
}

// One step: the forward pass reads what was not rounded. A code is off by 2^-4 at most, a bf16 by
// 2^-8; what comes of it in a gradient is of that size, and twice as large where layers run again
// from a rounded input.
TEST(KeptPrecision, ChangesGradientsByItsRoundingAndNoLoss) {
    for (const WorkingSet working : kWorking) {
        const RigConfig config = rounded(KeptPrecision::compute, working, DType::f32);
        const RigResult exact = first_step(config, KeptPrecision::compute, 1);
        for (const auto& [precision, rounding] :
             {std::pair{KeptPrecision::fp8, 1.0 / 16}, {KeptPrecision::bf16, 1.0 / 256}}) {
            for (const int every : {1, 2}) {
                const RigResult result = first_step(config, precision, every);
                EXPECT_EQ(result.losses, exact.losses);
                EXPECT_GT(worst_gradient(result, exact), 0);
                EXPECT_LT(worst_gradient(result, exact), 2 * every * rounding);
                for (const auto& [kind, error] : gradient_errors(result, exact)) {
                    std::cout << format("{}, every {}, {}: {}\n", to_string(precision), every, kind,
                                        error);
                }
            }
        }
    }
}

// A row is rounded by itself, so what moves the rows changes no bit.
TEST(KeptPrecision, RoundsTheSameInAnyWindows) {
    for (const KeptPrecision precision : {KeptPrecision::bf16, KeptPrecision::fp8}) {
        const RigResult whole = run_rig(rounded(precision, WorkingSet::whole, DType::f32));
        for (const int prefetch : {0, 2}) {
            RigConfig config = rounded(precision, WorkingSet::windows, DType::f32);
            config.memory.prefetch = prefetch;
            config.chunk = (1 + prefetch) * config.tile;
            expect_same(run_rig(config), whole);
        }
    }
}

class KeptPrecisionOn : public testing::TestWithParam<KeepCase> {};

// Recomputation reads what was rounded, and what it gives is then rounded in turn.
TEST_P(KeptPrecisionOn, TrainsWithEveryInputAndWithSome) {
    RigConfig config = config_of(GetParam());
    if (config.memory.kept == KeptPlace::device) return;
    const RigResult exact = first_step(config, KeptPrecision::compute, 1);
    for (const int every : {1, 2}) {
        const RigResult result = first_step(config, KeptPrecision::fp8, every);
        EXPECT_EQ(result.losses, exact.losses);
        EXPECT_GT(worst_gradient(result, exact), 0);
        EXPECT_LT(worst_gradient(result, exact), every / 8.0) << every;
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, KeptPrecisionOn, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
