// The engine computes the same bits in whatever order the streams play their work, as long as they
// keep CUDA's promises.
#include "tests/support/lazy_device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/rank_rig.h"

namespace rm {
namespace {

test::KernelsFactory lazy_backend(const test::LazyOptions& options, DType compute = DType::f32) {
    return [options, compute] {
        test::set_lazy_options(options);
        return make_cpu_kernels(
            {.num_threads = 1, .compute = compute, .make_device = test::make_lazy_device});
    };
}

test::RigConfig config_of(const Mesh& mesh, int zero) {
    test::RigConfig config;
    config.mesh = mesh;
    config.zero = zero;
    config.model = test::small_model();
    config.context = 256;
    config.documents = {100, 3, 124, 29};
    config.sequences = 2 * mesh.size(Axis::data);
    config.steps = 2;
    return config;
}

MemoryPolicy policy(WorkingSet working, Keep keep, double alpha, int prefetch) {
    MemoryPolicy policy;
    policy.kept = KeptPlace::host;
    policy.working = working;
    policy.keep = keep;
    policy.alpha = alpha;
    policy.prefetch = prefetch;
    return policy;
}
MemoryPolicy windows(int prefetch, Keep keep = Keep::input_and_attention) {
    return policy(WorkingSet::windows, keep, 0.3, prefetch);
}
MemoryPolicy on_host(Keep keep = Keep::input_and_attention) {
    return policy(WorkingSet::whole, keep, 0.3, 1);
}

MemoryPolicy in_fp8(MemoryPolicy policy, int keep_every) {
    policy.keep_precision = KeptPrecision::fp8;
    policy.keep_every = keep_every;
    return policy;
}

struct Layout {
    const char* name;
    Mesh mesh;
    int zero;
    OptimizerPlace place = OptimizerPlace::device;
    MemoryPolicy memory;
    std::int64_t block = 0;  // elements of embedding and head that travel together
    StateTypes types = {};

    bool on_host() const { return place == OptimizerPlace::host; }
    // In bf16 the engine converts weights on their way up from the host.
    DType compute() const { return on_host() ? DType::bf16 : DType::f32; }
};

// The host's work also runs in any order.
test::RigConfig config_of(const Layout& layout) {
    test::RigConfig config = config_of(layout.mesh, layout.zero);
    config.backend = test::cpu_backend(1, layout.compute());
    config.memory = layout.memory;
    config.vocabulary_block = layout.block;
    config.types = layout.types;
    if (layout.memory.kept == KeptPlace::host) {
        config.context = 512;
        config.documents = {100, 3, 380, 29};
        config.chunk = 2 * config.tile;
        config.model.num_layers = 3;
    }
    if (!layout.on_host()) return config;
    config.host = config.backend;
    config.model.num_layers = 5;  // so that they come by way of the same buffers
    return config;
}

constexpr StateTypes kRoundedGradients{.gradients = DType::bf16};
// EveryWait shows that half as many orders notice a missing wait.
const std::uint64_t kOrders = std::getenv("RM_NIGHTLY") != nullptr ? 50 : 12;

class AnyOrder : public testing::TestWithParam<Layout> {};

TEST_P(AnyOrder, GivesTheSameBits) {
    test::RigConfig config = config_of(GetParam());
    const test::RigResult threads = run_rig(config);
    for (std::uint64_t seed = 1; seed <= kOrders; ++seed) {
        config.backend = lazy_backend({seed}, GetParam().compute());
        const test::RigResult lazy = run_rig(config);
        EXPECT_EQ(lazy.losses, threads.losses) << "seed " << seed;
        EXPECT_EQ(lazy.grad_norms, threads.grad_norms) << "seed " << seed;
        EXPECT_EQ(lazy.weights, threads.weights) << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, AnyOrder,
    testing::Values(
        Layout{"Ring", Mesh::make(1, 4, 1, 1).value(), 0},
        Layout{"DoubleRing", Mesh::make(1, 4, 2, 1, 2).value(), 2},
        Layout{"TensorAndData", Mesh::make(2, 1, 1, 2).value(), 3},
        Layout{"Everything", Mesh::make(1, 2, 2, 2).value(), 3},
        Layout{"HostAlone", Mesh(), 0, OptimizerPlace::host},
        Layout{"HostZero2", Mesh::make(2, 1, 1, 1).value(), 2, OptimizerPlace::host},
        Layout{"HostZero3", Mesh::make(2, 1, 1, 2).value(), 3, OptimizerPlace::host},
        Layout{"KeptOnHost", Mesh::make(1, 2, 2, 1).value(), 0, OptimizerPlace::device, on_host()},
        Layout{"InputKeptOnHost", Mesh::make(1, 2, 2, 1).value(), 3, OptimizerPlace::device,
               on_host(Keep::input)},
        Layout{"WindowsPrefetch0", Mesh(), 0, OptimizerPlace::device, windows(0)},
        Layout{"WindowsPrefetch1", Mesh(), 0, OptimizerPlace::device, windows(1)},
        Layout{"WindowsPrefetch2", Mesh(), 0, OptimizerPlace::device, windows(2)},
        Layout{"WindowsInput", Mesh(), 0, OptimizerPlace::device, windows(1, Keep::input)},
        Layout{"WindowsRing", Mesh::make(1, 2, 1, 1).value(), 0, OptimizerPlace::device,
               windows(2, Keep::input)},
        Layout{"WindowsDoubleRing", Mesh::make(1, 4, 1, 1, 2).value(), 0, OptimizerPlace::device,
               windows(1)},
        Layout{"WindowsUlysses", Mesh::make(1, 1, 2, 1).value(), 0, OptimizerPlace::device,
               windows(1)},
        Layout{"WindowsTensor", Mesh::make(1, 1, 1, 2).value(), 0, OptimizerPlace::device,
               windows(0)},
        Layout{"WindowsEverything", Mesh::make(1, 2, 2, 2).value(), 3, OptimizerPlace::device,
               windows(1)},
        Layout{"WindowsInFp8", Mesh(), 0, OptimizerPlace::device, in_fp8(windows(1), 2)},
        Layout{"InFp8OnHost", Mesh::make(1, 1, 2, 1).value(), 3, OptimizerPlace::host,
               in_fp8(on_host(Keep::input), 2)},
        Layout{"WindowsHostState", Mesh(), 0, OptimizerPlace::host, windows(1)},
        Layout{"Blocks", Mesh::make(2, 1, 1, 2).value(), 3, OptimizerPlace::device, {}, 512},
        Layout{"BlocksInWindows", Mesh::make(2, 1, 1, 1).value(), 3, OptimizerPlace::device,
               windows(1), 512},
        Layout{"BlocksHostState", Mesh::make(2, 1, 1, 1).value(), 3, OptimizerPlace::host, {}, 512},
        Layout{"RoundedGradients", Mesh::make(2, 1, 1, 2).value(), 3, OptimizerPlace::device,
               windows(1), 512, kRoundedGradients},
        Layout{"RoundedGradientsHostState",
               Mesh::make(1, 1, 2, 2).value(),
               2,
               OptimizerPlace::host,
               {},
               0,
               kRoundedGradients}),
    [](const auto& info) { return info.param.name; });

class EveryWait : public testing::TestWithParam<Layout> {};

// Runs with one wait left out on every rank; returns nothing when the run fails.
std::optional<test::RigResult> without_wait(test::RigConfig config, DType compute,
                                            std::int64_t wait, std::uint64_t seed) {
    config.backend = lazy_backend({seed, wait}, compute);
    try {
        return run_rig(config);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

bool same_bits(const std::optional<test::RigResult>& a, const test::RigResult& b) {
    return a && a->losses == b.losses && a->grad_norms == b.grad_norms && a->weights == b.weights;
}

// Shows that the orders above are hard enough. A wait that others imply goes unnoticed.
TEST_P(EveryWait, IsMissedWhereNothingElseOrdersTheSame) {
    constexpr std::uint64_t kSeeds = 6;
    test::RigConfig config = config_of(GetParam());
    config.model.num_layers = 1;
    config.steps = GetParam().on_host() ? 2 : 1;  // its updates end in the next
    config.documents.clear();                     // every slot needs what every other one has
    const test::RigResult right = run_rig(config);
    std::int64_t num_noticed = 0;
    test::LazyWaits waits;
    for (std::int64_t wait = 0; wait == 0 || wait < waits.count; ++wait) {
        bool noticed = false;
        for (std::uint64_t seed = 1; seed <= kSeeds && !noticed; ++seed)
            noticed = !same_bits(without_wait(config, GetParam().compute(), wait, seed), right);
        waits = test::last_lazy_waits();
        num_noticed += noticed ? 1 : 0;
    }
    EXPECT_GE(num_noticed, waits.count / 3) << "of " << waits.count;

    std::cout << num_noticed << " of " << waits.count << " waits are missed when left out\n";
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, EveryWait,
    testing::Values(
        Layout{"Ring", Mesh::make(1, 4, 1, 1).value(), 0},
        Layout{"Tensor", Mesh::make(1, 1, 1, 2).value(), 0},
        Layout{"Zero", Mesh::make(2, 1, 1, 1).value(), 3},
        Layout{"Ulysses", Mesh::make(1, 1, 2, 1).value(), 2},
        Layout{"Blocks", Mesh::make(2, 1, 1, 1).value(), 3, OptimizerPlace::device, {}, 512},
        Layout{"HostZero3", Mesh::make(2, 1, 1, 1).value(), 3, OptimizerPlace::host}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm
