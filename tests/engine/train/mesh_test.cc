// A different mesh must not change what is trained.
#include <gtest/gtest.h>

#include "engine/comm/communicator.h"
#include "tests/support/rig_checks.h"

namespace rm {
namespace {

using test::RigConfig;
using test::RigResult;

Mesh mesh_of(int data, int ring) {
    return Mesh::make(data, ring, 1, 1).value();
}

RigConfig base_config(const test::KernelsFactory& backend, const Mesh& mesh) {
    RigConfig config;
    config.backend = backend;
    config.mesh = mesh;
    config.model = test::small_model();
    config.context = 640;  // cuts without padding for rings of 1, 2, 4 and 5
    config.sequences = 2;
    return config;
}

struct Layout {
    int data;
    int ring;
    std::int64_t context;
    std::int64_t sequences;
};

class RefMesh : public testing::TestWithParam<Layout> {};

TEST_P(RefMesh, GivesTheOneRankLossGradientsAndWeights) {
    const Layout& layout = GetParam();
    RigConfig config = base_config(test::ref_backend(), mesh_of(1, 1));
    config.context = layout.context;
    config.sequences = layout.sequences;
    config.steps = 5;
    const RigResult one = run_rig(config);
    config.mesh = mesh_of(layout.data, layout.ring);
    config.chunk = 192;
    const RigResult many = run_rig(config);
    test::expect_same_training(many, one);
}

// Rings of all sizes up to 5 with and without padding; data alone and with a ring; sequences that
// do not fill the data axis (the last micro-batch is padding on some ranks).
INSTANTIATE_TEST_SUITE_P(Layouts, RefMesh,
                         testing::Values(Layout{1, 1, 300, 1}, Layout{1, 2, 320, 1},
                                         Layout{1, 2, 300, 1}, Layout{1, 3, 288, 1},
                                         Layout{1, 4, 256, 1}, Layout{1, 4, 250, 1},
                                         Layout{1, 5, 320, 1}, Layout{1, 5, 300, 1},
                                         Layout{2, 1, 192, 2}, Layout{2, 2, 192, 3},
                                         Layout{3, 2, 128, 4}, Layout{2, 3, 192, 2}),
                         [](const auto& info) {
                             const Layout& l = info.param;
                             return "Data" + std::to_string(l.data) + "Ring" +
                                    std::to_string(l.ring) + "Context" + std::to_string(l.context) +
                                    "Sequences" + std::to_string(l.sequences);
                         });

class CpuMesh : public testing::TestWithParam<DType> {
protected:
    static test::KernelsFactory backend(int num_threads) {
        return test::cpu_backend(num_threads, GetParam());
    }
};
INSTANTIATE_TEST_SUITE_P(Types, CpuMesh, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(CpuMesh, FirstStepGradientsAreWithinTheDerivedTolerance) {
    RigConfig config = base_config(test::ref_backend(), mesh_of(1, 1));
    config.steps = 0;
    const RigResult exact = run_rig(config);
    config.backend = backend(1);
    const RigResult one = run_rig(config);
    for (const auto& [data, ring] : {std::pair{1, 2}, {1, 4}, {1, 5}, {2, 2}}) {
        config.mesh = mesh_of(data, ring);
        const RigResult mesh = run_rig(config);
        SCOPED_TRACE(to_string(config.mesh));
        test::expect_derived_tolerance(mesh, one, exact, GetParam());
    }
}

TEST_P(CpuMesh, SameSeedAndMeshTwiceAreBitIdenticalWithOneAndTwoThreads) {
    for (const Mesh& mesh : {mesh_of(1, 1), mesh_of(1, 4), mesh_of(2, 2)}) {
        RigConfig config = base_config(backend(1), mesh);
        config.steps = 3;
        const RigResult first = run_rig(config);
        const RigResult again = run_rig(config);
        config.backend = backend(2);
        const RigResult two_threads = run_rig(config);
        EXPECT_EQ(again.losses, first.losses);
        EXPECT_EQ(again.weights, first.weights);
        EXPECT_EQ(two_threads.losses, first.losses);
        EXPECT_EQ(two_threads.weights, first.weights);
    }
}

TEST_P(CpuMesh, ChunkSizeChangesNoBit) {
    for (const Mesh& mesh : {mesh_of(1, 1), mesh_of(1, 3)}) {
        RigConfig config = base_config(backend(1), mesh);
        config.steps = 2;
        config.context = 1152;
        const RigResult small = run_rig(config);
        for (const std::int64_t chunk : {128, 256, 4096}) {
            config.chunk = chunk;
            const RigResult other = run_rig(config);
            EXPECT_EQ(other.losses, small.losses) << chunk;
            EXPECT_EQ(other.weights, small.weights) << chunk;
        }
    }
}

std::string name_of(test::RigTransport transport) {
    switch (transport) {
        case test::RigTransport::local:
            return "Local";
        case test::RigTransport::shared:
            return "Shared";
        case test::RigTransport::gloo:
            return "Gloo";
    }
    return "?";
}

bool has(test::RigTransport transport) {
#ifdef RM_HAS_GLOO
    constexpr bool kHasGloo = true;
#else
    constexpr bool kHasGloo = false;
#endif
    return kHasGloo || transport != test::RigTransport::gloo;
}

TEST_P(CpuMesh, EveryTransportGivesTheSameBits) {
    RigConfig config = base_config(backend(1), mesh_of(2, 3));
    config.context = 384;
    config.steps = 2;
    const RigResult local = run_rig(config);
    for (const auto transport : {test::RigTransport::shared, test::RigTransport::gloo}) {
        if (!has(transport)) continue;
        SCOPED_TRACE(name_of(transport));
        config.transport = transport;
        const RigResult other = run_rig(config);
        EXPECT_EQ(other.losses, local.losses);
        EXPECT_EQ(other.weights, local.weights);
        EXPECT_EQ(other.ring_bytes, local.ring_bytes);
    }
}

// docs/communication.md: the forward pass makes R-1 hops of k and v; the backward pass repeats them
// and makes as many of their gradients.
class RingBytes : public testing::TestWithParam<std::tuple<int, test::RigTransport, DType>> {};

TEST_P(RingBytes, EqualTheDocumentedFormula) {
    const auto [ring, transport, compute] = GetParam();
    if (!has(transport)) GTEST_SKIP() << "this build has no gloo";
    RigConfig config = base_config(test::cpu_backend(1, compute), mesh_of(1, ring));
    config.context = 64 * ring;
    config.sequences = 3;  // three micro-batches per step
    config.steps = 2;
    config.transport = transport;
    const RigResult result = run_rig(config);
    const std::int64_t T = config.context / ring;
    const std::int64_t kv_elements = 2 * T * config.model.num_kv_heads * config.model.head_dim;
    // Keys and values travel in the compute type, their gradients as sums.
    const std::int64_t forward = (ring - 1) * kv_elements * size_of(compute);
    const std::int64_t backward = forward + (ring - 1) * kv_elements * 4;
    const std::int64_t micro_batches = config.sequences * config.steps;
    for (const std::int64_t bytes : result.ring_bytes) {
        EXPECT_EQ(bytes, (forward + backward) * config.model.num_layers * micro_batches);
    }
}

INSTANTIATE_TEST_SUITE_P(Rings, RingBytes,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5),
                                          testing::Values(test::RigTransport::local,
                                                          test::RigTransport::shared,
                                                          test::RigTransport::gloo),
                                          testing::Values(DType::f32, DType::bf16)),
                         [](const auto& info) {
                             return name_of(std::get<1>(info.param)) +
                                    std::to_string(std::get<0>(info.param)) +
                                    std::string(to_string(std::get<2>(info.param)));
                         });

}  // namespace
}  // namespace rm
