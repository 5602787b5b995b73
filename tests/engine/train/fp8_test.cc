// Linear layers in FP8: what moves data changes no bit; a mesh changes scales alone, which matters
// only to numbers that are tiny beside their tile's largest.
#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "engine/model/linears/fp8_sites.h"
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
    return {
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
}

RigResult run(RigConfig config, const LinearPrecision& linears) {
    config.linears = linears;
    return run_rig(config);
}

// One rank of the oracle, run once for all meshes that train the same.
const RigResult& alone(const Fp8Case& c, std::optional<Fp8> gradients) {
    using Key = std::tuple<std::int64_t, std::int64_t, std::optional<Fp8>>;
    static std::map<Key, RigResult> known;
    const Key key{c.kv_heads, c.context, gradients};
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    RigConfig config = config_of(c, ref_backend());
    config.mesh = Mesh();
    config.zero = 0;
    LinearPrecision linears;
    if (gradients) linears = {.fp8 = true, .gradients = *gradients};
    return known[key] = run(config, linears);
}

double error_of(const RigResult& x, const RigResult& exact) {
    double squares = 0, of_exact = 0;
    for (const auto& [name, values] : exact.gradients) {
        squares += std::pow(norm_difference(x.gradients.at(name), values), 2);
        of_exact += std::pow(norm(values), 2);
    }
    return std::sqrt(squares / of_exact);
}

class Fp8Layouts : public testing::TestWithParam<Fp8Case> {};

// On the oracle: r without rounding, n one rank in FP8, x the mesh in FP8. Two scales round a
// number differently only below the smallest normal code of either, by 2^-10 of the scale each:
// 2^-18 of the tile's largest. So few codes differ that x is nearer to n than n is to r, and as
// near to r. (Tensor ranks that share key-value heads each round their part of those heads'
// gradients.)
TEST_P(Fp8Layouts, DifferByLessThanRoundingDoes) {
    const RigResult& r = alone(GetParam(), std::nullopt);
    for (const Fp8 gradients : {Fp8::e5m2, Fp8::e4m3}) {
        const RigResult& n = alone(GetParam(), gradients);
        const RigResult x =
            run(config_of(GetParam(), ref_backend()), {.fp8 = true, .gradients = gradients});
        const double rounding = error_of(n, r);
        std::cout << "gradients differ by " << rounding << " from those without FP8, by "
                  << error_of(x, n) << " from those of one rank\n";
        EXPECT_GT(rounding, 1e-3) << "nothing is rounded";
        EXPECT_LT(rounding, 0.3);
        EXPECT_LE(error_of(x, n), rounding / 2);
        EXPECT_LE(error_of(x, r), 1.25 * rounding);
        EXPECT_NEAR(x.losses[0], n.losses[0], 0.5 * std::abs(n.losses[0] - r.losses[0]) + 1e-4);
    }
}

// In working precision: as near to the oracle's FP8 as the oracle's FP8 is to no rounding.
TEST_P(Fp8Layouts, FollowTheOracleInWorkingPrecision) {
    const RigResult &r = alone(GetParam(), std::nullopt), &n = alone(GetParam(), Fp8::e5m2);
    RigConfig config = config_of(GetParam(), ref_backend());
    for (const DType type : {DType::f32, DType::bf16}) {
        config.backend = cpu_backend(1, type);
        const RigResult x = run_rig(config);
        std::cout << to_string(type) << " differs by " << error_of(x, n) << " from the oracle\n";
        EXPECT_LE(error_of(x, r), 1.5 * error_of(n, r)) << to_string(type);
        EXPECT_LE(error_of(x, n), 1.1 * error_of(n, r)) << to_string(type);
        EXPECT_NE(x.gradients, run(config, {}).gradients) << "nothing is rounded";
    }
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
    const RigResult one = run_rig(config);
    EXPECT_GT(error_of(one, alone(GetParam(), std::nullopt)), 1e-3) << "nothing is rounded";
    EXPECT_NEAR(many.losses[1], one.losses[1], 1e-10);
    // Ranks that share a head each round their part of its gradients.
    const bool shares = GetParam().kv_heads < GetParam().mesh.size(Axis::tensor);
    const double rounding = error_of(one, alone(GetParam(), std::nullopt));
    EXPECT_LE(error_of(many, one), shares ? rounding / 2 : 1e-9);
}

class Fp8Bits : public testing::TestWithParam<Fp8Case> {};

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
    RigConfig config = config_of(GetParam(), cpu_backend(1, DType::bf16));
    expect_memory_moves_data(config);
    config.linears.scaling = Fp8LinearScaling::delayed;
    expect_memory_moves_data(config);
}

INSTANTIATE_TEST_SUITE_P(Meshes, Fp8Bits, testing::ValuesIn(some(cases())),
                         [](const auto& info) { return info.param.name; });

// With one sequence per rank, neither the data axis nor a ZeRO stage touches a scale.
TEST(Fp8, HasTheSameBitsAtEveryZeroStage) {
    const Mesh mesh = Mesh::make(2, 2, 1, 2).value();
    RigConfig config = config_of({"", mesh}, cpu_backend(1, DType::bf16));
    config.steps = 2;
    const RigResult plain = run_rig(config);
    for (const int zero : {1, 2, 3}) {
        config.zero = zero;
        const RigResult sharded = run_rig(config);
        EXPECT_EQ(sharded.losses, plain.losses) << zero;
        EXPECT_EQ(sharded.weights, plain.weights) << zero;
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
    Fp8History history(*device, precision, 3);
    const auto sites = static_cast<std::size_t>(history.num_sites());
    EXPECT_EQ(sites, 3 * kNumFp8Sites);
    EXPECT_EQ(history.layer(0)[0].scaling, Scaling::current);
    history.end_step(one_of(100, 4, 2, sites));
    EXPECT_EQ(history.layer(0)[0].scaling, Scaling::given);
    const auto scale_of_first = [&] {
        const auto kernels = make_cpu_kernels({});
        const auto stream = kernels->device().make_stream("test");
        history.begin_step(*kernels, *stream);
        stream->synchronize();
        return *history.layer(0)[0].scale.as<float>();
    };
    EXPECT_EQ(scale_of_first(), 1 / fp8_scale(Fp8::e4m3, 100));
    history.end_step(one_of(std::numeric_limits<float>::infinity(), 4, 0, sites));
    for (std::size_t step = 0; step + 1 < Fp8History::kHistory; ++step) {
        history.end_step(one_of(1, 4, 1, sites));
        EXPECT_EQ(scale_of_first(), 1 / fp8_scale(Fp8::e4m3, 100)) << step;
    }
    history.end_step(one_of(1, 4, 1, sites));
    EXPECT_EQ(scale_of_first(), 1 / fp8_scale(Fp8::e4m3, 1));
    Fp8History resumed(*device, precision, 3);
    resumed.restore(history.steps());
    EXPECT_EQ(resumed.steps(), history.steps());
    EXPECT_EQ(resumed.layer(2)[10].scaling, Scaling::given);
    resumed.forget();
    EXPECT_EQ(resumed.layer(2)[10].scaling, Scaling::current);
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
