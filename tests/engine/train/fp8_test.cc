// Linear layers in FP8: what moves data changes no bit; a mesh changes scales alone, which matters
// only to numbers that are tiny beside their tile's largest.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "engine/model/linears/fp8_monitor.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/rig_checks.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

struct Fp8Case {
    std::string name;
    Mesh mesh;
    int zero = 0;
    std::int64_t kv_heads = 2;
    std::int64_t context = 576;
    std::int64_t sequences = 2;
    Fp8 gradients = Fp8::e5m2;  // with current scaling; with blocks the other
};
void PrintTo(const Fp8Case& c, std::ostream* out) {
    *out << c.name;
}

RigConfig config_of(const Fp8Case& c, const KernelsFactory& backend) {
    RigConfig config;
    config.backend = backend;
    config.mesh = c.mesh;
    config.zero = c.zero;
    config.model = small_model();
    config.model.num_layers = 4;
    config.model.hidden = 32;
    config.model.head_dim = 16;
    config.model.num_query_heads = 4;
    config.model.num_kv_heads = c.kv_heads;
    config.model.feed_forward = 64;
    config.context = c.context;
    config.sequences = c.sequences;
    config.steps = 0;
    config.tile = 64;
    config.chunk = 128;
    config.linears = {.fp8 = true};
    return config;
}

std::vector<Fp8Case> cases() {
    const auto mesh = [](int data, int ring, int ulysses, int tensor, int inner = 0) {
        return Mesh::make(data, ring, ulysses, tensor, inner).value();
    };
    std::vector<Fp8Case> all = {
        {"one", mesh(1, 1, 1, 1)},
        {"data_zero0", mesh(2, 1, 1, 1)},
        {"data_zero3", mesh(2, 1, 1, 1), 3},
        {"ring", mesh(1, 3, 1, 1)},
        {"double_ring_zero2", mesh(1, 4, 1, 1, 2), 2},
        {"ulysses", mesh(1, 1, 2, 1)},
        {"tensor", mesh(1, 1, 1, 2)},
        {"tensor_shared_heads", mesh(1, 1, 1, 4), 0, 1},
        {"ring_tensor_zero3", mesh(1, 3, 1, 2), 3},
        {"all_zero3", mesh(2, 2, 2, 2), 3, 2, 768},
        {"padded", mesh(1, 2, 2, 1), 0, 2, 500},
    };
    for (std::size_t i = 1; i < all.size(); i += 2)
        all[i].gradients = Fp8::e4m3;
    return all;
}

RigResult run(RigConfig config, const LinearPrecision& linears) {
    config.linears = linears;
    return run_rig(config);
}

LinearPrecision fp8_with(Fp8 gradients, Fp8LinearScaling scaling) {
    return {.fp8 = true, .gradients = gradients, .scaling = scaling};
}

// One rank of the oracle, run once for all meshes that train the same.
const RigResult& alone(const Fp8Case& c, std::optional<Fp8> gradients,
                       Fp8LinearScaling scaling = Fp8LinearScaling::current) {
    using Key = std::tuple<std::int64_t, std::int64_t, std::optional<Fp8>, Fp8LinearScaling>;
    static std::map<Key, RigResult> known;
    const Key key{c.kv_heads, c.context, gradients, scaling};
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    RigConfig config = config_of(c, ref_backend());
    config.mesh = Mesh();
    config.zero = 0;
    LinearPrecision linears;
    if (gradients) linears = fp8_with(*gradients, scaling);
    return known[key] = run(config, linears);
}

class Fp8Layouts : public testing::TestWithParam<Fp8Case> {};

// On the oracle: r without rounding, n one rank in FP8, x the mesh in FP8. Two scales round a
// number differently only below the smallest normal code of either, by 2^-10 of the scale each:
// 2^-18 of the tile's largest. So few codes differ that x is nearer to n than n is to r, and as
// near to r. (Tensor ranks that share key-value heads each round their part of those heads'
// gradients.) Blocks of a token do not depend on the mesh, unless a tensor rank has a part of one;
// those along tokens do, as a tile does.
void expect_less_than_rounding(const Fp8Case& c, Fp8LinearScaling scaling) {
    const bool other = scaling == Fp8LinearScaling::blocks;
    const Fp8 gradients = (c.gradients == Fp8::e4m3) == other ? Fp8::e5m2 : Fp8::e4m3;
    const RigResult &r = alone(c, std::nullopt), &n = alone(c, gradients, scaling);
    const RigResult x = run(config_of(c, ref_backend()), fp8_with(gradients, scaling));
    const double rounding = error_of(n, r);
    std::cout << "gradients differ by " << rounding << " from those without FP8, by "
              << error_of(x, n) << " from those of one rank\n";
    EXPECT_GT(rounding, 1e-3) << "nothing is rounded";
    EXPECT_LT(rounding, 0.3);
    EXPECT_LE(error_of(x, n), rounding / 2);
    EXPECT_LE(error_of(x, r), 1.25 * rounding);
    EXPECT_NEAR(x.losses[0], n.losses[0], 0.5 * std::abs(n.losses[0] - r.losses[0]) + 1e-4);
}

TEST_P(Fp8Layouts, DifferByLessThanRoundingDoes) {
    expect_less_than_rounding(GetParam(), Fp8LinearScaling::current);
}
TEST_P(Fp8Layouts, DifferByLessThanRoundingDoesInBlocks) {
    expect_less_than_rounding(GetParam(), Fp8LinearScaling::blocks);
}

// In working precision: as near to the oracle's FP8 as the oracle's FP8 is to no rounding.
void expect_the_oracle(const Fp8Case& c, Fp8LinearScaling scaling) {
    const RigResult &r = alone(c, std::nullopt), &n = alone(c, Fp8::e5m2, scaling);
    RigConfig config = config_of(c, ref_backend());
    config.linears.scaling = scaling;
    for (const DType type : {DType::f32, DType::bf16}) {
        config.backend = cpu_backend(1, type);
        const RigResult x = run_rig(config);
        std::cout << to_string(type) << " differs by " << error_of(x, n) << " from the oracle\n";
        EXPECT_LE(error_of(x, r), 1.5 * error_of(n, r)) << to_string(type);
        EXPECT_LE(error_of(x, n), 1.1 * error_of(n, r)) << to_string(type);
        EXPECT_NE(x.gradients, run(config, {}).gradients) << "nothing is rounded";
    }
}

TEST_P(Fp8Layouts, FollowTheOracleInWorkingPrecision) {
    expect_the_oracle(GetParam(), Fp8LinearScaling::current);
}
TEST_P(Fp8Layouts, FollowTheOracleInWorkingPrecisionInBlocks) {
    expect_the_oracle(GetParam(), Fp8LinearScaling::blocks);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Fp8Layouts, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

void expect_same(const RigResult& a, const RigResult& b, const std::string& what) {
    EXPECT_EQ(a.losses, b.losses) << what;
    EXPECT_EQ(a.grad_norms, b.grad_norms) << what;
    EXPECT_EQ(a.gradients, b.gradients) << what;
    EXPECT_EQ(a.weights, b.weights) << what;
}

// A scale that all ranks find from the steps before depends on no mesh, so nor does a code: in the
// second step, whose weights are those of the first, every mesh has the gradients of one rank.
TEST_P(Fp8Layouts, HaveTheSameCodesWithDelayedScaling) {
    RigConfig config = config_of(GetParam(), ref_backend());
    config.linears.scaling = Fp8LinearScaling::delayed;
    config.steps = 2;
    config.learning_rate = 0;
    const RigResult many = run_rig(config);
    config.mesh = Mesh();
    config.zero = 0;
    static std::map<std::pair<std::int64_t, std::int64_t>, RigResult> known;
    RigResult& one = known[{GetParam().kv_heads, GetParam().context}];
    if (one.losses.empty()) one = run_rig(config);
    EXPECT_GT(error_of(one, alone(GetParam(), std::nullopt)), 1e-3) << "nothing is rounded";
    EXPECT_NEAR(many.losses[1], one.losses[1], 1e-10);
    // Ranks that share a head each round their part of its gradients.
    const bool shares = GetParam().kv_heads < GetParam().mesh.size(Axis::tensor);
    const double rounding = error_of(one, alone(GetParam(), std::nullopt));
    EXPECT_LE(error_of(many, one), shares ? rounding / 2 : 1e-9);
}

using CaseAndScaling = std::pair<Fp8Case, Fp8LinearScaling>;
void PrintTo(const CaseAndScaling& c, std::ostream* out) {
    *out << c.first.name;
}
class Fp8Bits : public testing::TestWithParam<CaseAndScaling> {};

// Scalings take turns; one rank and all axes at once have each.
std::vector<CaseAndScaling> cases_of_bits() {
    constexpr std::array kScalings = {Fp8LinearScaling::current, Fp8LinearScaling::delayed,
                                      Fp8LinearScaling::blocks};
    std::vector<CaseAndScaling> chosen;
    std::size_t turn = 0;
    for (const Fp8Case& c : cases()) {
        if (c.name != "one" && c.name != "all_zero3") {
            chosen.emplace_back(c, kScalings[turn++ % kScalings.size()]);
            continue;
        }
        for (const Fp8LinearScaling scaling : kScalings)
            chosen.emplace_back(c, scaling);
    }
    return chosen;
}

void expect_memory_moves_data(RigConfig config) {
    config.steps = 2;
    const RigResult whole = run_rig(config);
    for (const Keep keep : {Keep::input, Keep::input_and_attention}) {
        config.memory = policy_of(KeptPlace::host, WorkingSet::windows, keep, 0.5);
        expect_same(run_rig(config), whole, "windows");
    }
    config.memory = policy_of(KeptPlace::device, WorkingSet::whole, Keep::input, 0);
    config.memory.keep_every = 2;
    expect_same(run_rig(config), whole, "keep_every");
    config.memory = {};
    config.chunk = 192;
    expect_same(run_rig(config), whole, "chunk");
}

// Offload, windows, recomputation, chunks and which inputs are kept move data.
TEST_P(Fp8Bits, DoNotDependOnMemory) {
    const auto& [c, scaling] = GetParam();
    RigConfig config = config_of(c, cpu_backend(1, DType::bf16));
    config.linears.scaling = scaling;
    expect_memory_moves_data(config);
}

std::string name_of(const testing::TestParamInfo<CaseAndScaling>& info) {
    constexpr std::array kNames = {"current", "delayed", "blocks"};
    return format("{}_{}", info.param.first.name,
                  kNames[static_cast<std::size_t>(info.param.second)]);
}
INSTANTIATE_TEST_SUITE_P(Meshes, Fp8Bits, testing::ValuesIn(some(cases_of_bits())), name_of);

// With one sequence per rank, neither the data axis nor a ZeRO stage touches a scale.
// From stage 1 on weights travel as codes, where a rank uses all of a part; with two key-value
// heads for four tensor ranks it does not.
TEST(Fp8, HasTheSameBitsAtEveryZeroStage) {
    for (const Fp8Case& c : {Fp8Case{"", Mesh::make(2, 2, 1, 2).value()},
                             Fp8Case{"", Mesh::make(3, 1, 1, 1).value(), 0, 2, 576, 3},
                             Fp8Case{"", Mesh::make(2, 1, 1, 4).value()}}) {
        RigConfig config = config_of(c, cpu_backend(1, DType::bf16));
        config.steps = 2;
        for (const auto scaling :
             {Fp8LinearScaling::current, Fp8LinearScaling::delayed, Fp8LinearScaling::blocks}) {
            config.linears.scaling = scaling;
            expect_zero_stages_change_no_bit(config);
        }
    }
}

std::vector<float> one_of(float largest, std::size_t ranks, std::size_t rank, std::size_t sites) {
    std::vector<float> all(ranks * sites, 0.5f);
    all[rank * sites] = largest;
    return all;
}

// The largest of all ranks and of as many steps as are remembered decides the next step's scale.
TEST(Fp8History, ScalesByTheLargestOfTheLastSteps) {
    const auto device = make_host_device();
    const LinearPrecision precision{.fp8 = true, .scaling = Fp8LinearScaling::delayed};
    Fp8Sites of_layers(*device, precision, 3);
    Fp8History& history = of_layers.history();
    const auto sites = static_cast<std::size_t>(history.num_sites());
    EXPECT_EQ(sites, 3 * kNumFp8Sites);
    EXPECT_EQ(of_layers.layer(0)[0].scaling, Scaling::current);
    history.end_step(one_of(100, 4, 2, sites));
    EXPECT_EQ(of_layers.layer(0)[0].scaling, Scaling::given);
    const auto scale_of_first = [&] {
        const auto kernels = make_cpu_kernels({});
        const auto stream = kernels->device().make_stream("test");
        history.begin_step(*kernels, *stream);
        stream->synchronize();
        return *of_layers.layer(0)[0].scale.as<float>();
    };
    EXPECT_EQ(scale_of_first(), 1 / fp8_scale(Fp8::e4m3, 100));
    history.end_step(one_of(std::numeric_limits<float>::infinity(), 4, 0, sites));
    for (std::size_t step = 0; step + 1 < Fp8History::kHistory; ++step) {
        history.end_step(one_of(1, 4, 1, sites));
        EXPECT_EQ(scale_of_first(), 1 / fp8_scale(Fp8::e4m3, 100)) << step;
    }
    history.end_step(one_of(1, 4, 1, sites));
    EXPECT_EQ(scale_of_first(), 1 / fp8_scale(Fp8::e4m3, 1));
    Fp8Sites resumed(*device, precision, 3);
    resumed.history().restore(history.steps());
    EXPECT_EQ(resumed.history().steps(), history.steps());
    EXPECT_EQ(resumed.layer(2)[10].scaling, Scaling::given);
    resumed.history().forget(1);
    EXPECT_EQ(resumed.layer(1)[10].scaling, Scaling::current);
    EXPECT_EQ(resumed.layer(2)[10].scaling, Scaling::given);
    resumed.history().forget();
    EXPECT_EQ(resumed.layer(2)[10].scaling, Scaling::current);
}

// One feature of a layer outgrows bf16, and the next matrix ignores it: its column is 0.
void make_infinite_feature(WeightState& state) {
    const LayerParameters& layer = state.table().layers[1];
    for (const StatePiece& piece : state.held()) {
        const bool grows = piece.parameter == layer.gate || piece.parameter == layer.up;
        if (!grows && piece.parameter != layer.down) continue;
        const std::int64_t columns = state.parameter(piece.parameter).shape[1];
        auto* x = piece.weight.as<float>();
        for (std::int64_t i = 0; i < (grows ? columns : piece.count); i += grows ? 1 : columns)
            x[i] = grows ? 1e20f : 0;
    }
}

// Regression 143: FP8 makes an infinity its largest number, so a step looked finite that in bf16 is
// not, and its gradients were taken.
TEST(Fp8, IsNotFiniteWhereAnInfinityWasRounded) {
    RigConfig config = config_of({"", Mesh()}, cpu_backend(1, DType::bf16));
    config.linears.bf16_layers = 0;
    config.steps = 1;
    config.learning_rate = 0;
    const RigResult before = run_rig(config);
    ASSERT_TRUE(before.last.finite);
    config.change = make_infinite_feature;
    config.learning_rate = 1;
    const RigResult fp8 = run_rig(config);
    std::cout << "norm " << fp8.grad_norms[0] << ", loss " << fp8.losses[0] << "\n";
    EXPECT_TRUE(std::isfinite(fp8.grad_norms[0])) << "the norm shows it, this test nothing";
    EXPECT_FALSE(fp8.last.finite);
    const std::string other = "model.layers.0.mlp.down_proj.weight";
    EXPECT_EQ(fp8.weights.at(other), before.weights.at(other)) << "the step was taken";
    config.linears.fp8 = false;
    EXPECT_THROW(run_rig(config), CheckError) << "in bf16 gradients are NaN";
}

TEST(Fp8, IsNotInTheLayersAtTheEnds) {
    const RigConfig config = config_of({"", Mesh()}, cpu_backend(1, DType::bf16));
    const RigResult bf16 = run(config, {});
    expect_same(run(config, {.fp8 = true, .bf16_layers = 2}), bf16, "all four are at the ends");
    const RigResult inner = run(config, {.fp8 = true, .bf16_layers = 1});
    const RigResult all = run(config, {.fp8 = true, .bf16_layers = 0});
    EXPECT_NE(inner.gradients, bf16.gradients);
    EXPECT_NE(inner.gradients, all.gradients);
}

}  // namespace
}  // namespace rm::test
