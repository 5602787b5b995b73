// Gradients in bf16 for the sum over the ranks and in the state. A rank forms them in accum.
#include <gtest/gtest.h>

#include <iostream>

#include "kernels/bf16.h"
#include "tests/support/rank_rig.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

struct RoundedCase {
    std::string name;
    Mesh mesh;
    int zero = 0;
    bool host_state = false;
    bool tied = false;
    std::int64_t block = 0;  // elements of embedding and head that travel together
    std::int64_t kv_heads = 2;
};
void PrintTo(const RoundedCase& c, std::ostream* out) {
    *out << c.name;
}

RigConfig config_of(const RoundedCase& c, const KernelsFactory& backend) {
    RigConfig config;
    config.backend = backend;
    if (c.host_state) config.host = backend;
    config.mesh = c.mesh;
    config.zero = c.zero;
    config.vocabulary_block = c.block;
    config.model = small_model();
    config.model.num_layers = 3;
    config.model.tied_head = c.tied;
    config.model.num_kv_heads = c.kv_heads;
    config.context = 768;
    config.sequences = c.mesh.size(Axis::data);
    config.steps = 0;
    return config;
}

std::vector<RoundedCase> cases() {
    const auto mesh = [](int data, int ring, int ulysses, int tensor) {
        return Mesh::make(data, ring, ulysses, tensor).value();
    };
    return {
        {"one", mesh(1, 1, 1, 1)},
        {"one_host", mesh(1, 1, 1, 1), 0, true},
        {"one_tied", mesh(1, 1, 1, 1), 0, false, true},
        {"one_blocks", mesh(1, 1, 1, 1), 0, false, false, 512},
        {"data_zero0", mesh(3, 1, 1, 1), 0},
        {"data_zero2", mesh(2, 1, 1, 1), 2},
        {"ring_zero3", mesh(1, 3, 1, 1), 3},
        {"ulysses_zero3_host", mesh(1, 1, 2, 1), 3, true},
        {"tensor_shared_heads", mesh(1, 1, 1, 4), 0, false, false, 0, 1},
        {"tensor_shared_heads_host", mesh(2, 1, 1, 4), 3, true, false, 0, 1},
        {"tensor_tied_blocks_host", mesh(2, 1, 1, 2), 3, true, true, 512},
        {"all_zero3", mesh(2, 2, 2, 2), 3},
        {"all_zero2_blocks", mesh(1, 2, 2, 2), 2, false, false, 512},
    };
}

RigResult run(RigConfig config, std::optional<DType> gradients) {
    config.types.gradients = gradients;
    return run_rig(config);
}

bool is_norm(const std::string& name) {
    return name.find("norm") != std::string::npos;
}

class RoundedGradients : public testing::TestWithParam<RoundedCase> {};

// Each rank rounds its own once, and each that adds them rounds the sum: an error of 2^-9 of the
// sum so far each time. Sums of few ranks are hardly smaller than what they are made of.
TEST_P(RoundedGradients, AreWithinTheirRoundingsOfTheExactOnes) {
    const RigConfig config = config_of(GetParam(), ref_backend());
    const RigResult exact = run(config, std::nullopt), rounded = run(config, DType::bf16);
    EXPECT_NEAR(rounded.losses[0], exact.losses[0], 1e-12);
    const double limit = 2.0 * config.mesh.num_ranks() / 512;
    for (const auto& [name, values] : exact.gradients) {
        const double error = norm_difference(rounded.gradients.at(name), values) / norm(values);
        if (is_norm(name)) {
            EXPECT_LT(error, 1e-12) << name;
        } else {
            EXPECT_GT(error, 0) << name;
            EXPECT_LT(error, limit) << name;
        }
    }
}

// They change where bits lie, not which bits a pass forms.
TEST_P(RoundedGradients, AreTheSameInWindows) {
    RigConfig config = config_of(GetParam(), cpu_backend(1, DType::bf16));
    config.sequences *= 2;
    config.steps = 2;
    config.chunk = 128;
    const RigResult whole = run(config, DType::bf16);
    config.memory = policy_of(KeptPlace::host, WorkingSet::windows, Keep::input_and_attention, 0.5);
    const RigResult windows = run(config, DType::bf16);
    EXPECT_EQ(windows.losses, whole.losses);
    EXPECT_EQ(windows.grad_norms, whole.grad_norms);
    EXPECT_EQ(windows.gradients, whole.gradients);
    EXPECT_EQ(windows.weights, whole.weights);
}

INSTANTIATE_TEST_SUITE_P(Layouts, RoundedGradients, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

double to_nearest_bf16(double x) {
    return from_bf16(to_bf16(static_cast<float>(x)));
}

// One rank and one micro-batch: nothing is added after the rounding.
TEST(RoundedGradientsOfOneRank, AreTheExactOnesRoundedOnce) {
    for (const bool host : {false, true}) {
        const RoundedCase one{.name = "", .mesh = Mesh(), .host_state = host};
        const RigConfig config = config_of(one, ref_backend());
        const RigResult exact = run(config, std::nullopt), rounded = run(config, DType::bf16);
        for (const auto& [name, values] : exact.gradients) {
            std::vector<double> expected = values;
            if (!is_norm(name)) std::ranges::transform(values, expected.begin(), to_nearest_bf16);
            EXPECT_EQ(rounded.gradients.at(name), expected) << name;
        }
    }
}

// A layer's buffers take 6 bytes for 8, the sums of all units 2 for 4, and as much less travels.
TEST(RoundedGradientsMemory, IsSmallerAndSoIsWhatTravels) {
    const RoundedCase two{.name = "", .mesh = Mesh::make(2, 1, 1, 1).value(), .zero = 2};
    RigConfig config = config_of(two, cpu_backend(1, DType::bf16));
    config.steps = 1;
    const RigResult whole = run(config, std::nullopt), rounded = run(config, DType::bf16);
    const ModelConfig& m = config.model;
    const std::int64_t C = m.hidden, D = m.head_dim;
    const std::int64_t layer =
        (2 * m.num_query_heads + 2 * m.num_kv_heads) * D * C + 3 * C * m.feed_forward;
    const std::int64_t vocabulary = m.vocabulary * C;
    const std::int64_t state = (m.num_layers * layer + 2 * vocabulary) / 2;
    const std::int64_t saved =
        whole.memory.at("gradients").value - rounded.memory.at("gradients").value;
    EXPECT_NEAR(static_cast<double>(saved), static_cast<double>(2 * layer + 2 * state),
                0.01 * static_cast<double>(state));
    constexpr const char* kSum = "gradient reduce_scatter_sum";
    EXPECT_EQ(2 * rounded.bytes[0].at(kSum), whole.bytes[0].at(kSum));
}

// The effect on training, beside that of another order of the same sums.
TEST(RoundedGradientsEffect, IsSmallBesideTheLoss) {
    RigConfig config =
        config_of({"", Mesh::make(2, 2, 1, 1).value(), 3}, cpu_backend(1, DType::bf16));
    config.sequences = 4;
    config.steps = 20;
    const RigResult exact = run(config, std::nullopt), rounded = run(config, DType::bf16);
    double worst = 0;
    for (std::size_t i = 0; i < exact.losses.size(); ++i)
        worst = std::max(worst, std::abs(rounded.losses[i] / exact.losses[i] - 1));
    std::cout << format("losses of {} steps differ by {} at most\n", config.steps, worst);
    EXPECT_GT(worst, 0);
    EXPECT_LT(worst, 2e-3);
}

}  // namespace
}  // namespace rm::test
