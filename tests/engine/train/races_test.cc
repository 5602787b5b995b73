// Runs the whole schedule under the thread sanitizer: every stream is a thread here, so a missing
// event between two streams is a data race.
#include <gtest/gtest.h>

#include "tests/support/rank_rig.h"

namespace rm {
namespace {

struct Layout {
    const char* name;
    Mesh mesh;
    int zero;
    int kv_heads;
    OptimizerPlace place = OptimizerPlace::device;
    std::int64_t block = 0;  // elements of embedding and head that travel together
    bool windows = false;
};

Layout windows_on(const char* name, const Mesh& mesh, int zero) {
    Layout layout{name, mesh, zero, 2};
    layout.windows = true;
    return layout;
}

class Schedule : public testing::TestWithParam<Layout> {};

TEST_P(Schedule, OrdersAllThatItsStreamsTouch) {
    test::RigConfig config;
    config.backend = test::cpu_backend(1);
    config.mesh = GetParam().mesh;
    config.zero = GetParam().zero;
    config.vocabulary_block = GetParam().block;
    config.model = test::small_model();
    config.model.num_layers = 3;
    config.model.num_kv_heads = GetParam().kv_heads;
    config.context = 768;
    config.documents = {100, 3, 636, 29};
    config.sequences = 2 * config.mesh.size(Axis::data);
    config.steps = 2;
    if (GetParam().place == OptimizerPlace::host) config.host = config.backend;
    if (GetParam().windows) {
        config.memory.kept = KeptPlace::host;
        config.memory.working = WorkingSet::windows;
        config.memory.alpha = 0.5;
        config.chunk = 2 * config.tile;
    }
    EXPECT_GT(run_rig(config).losses.back(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Schedule,
    testing::Values(
        Layout{"Everything", Mesh::make(2, 2, 2, 2).value(), 3, 4},
        Layout{"DoubleRing", Mesh::make(1, 4, 2, 1, 2).value(), 2, 2},
        Layout{"ReplicatedHeads", Mesh::make(2, 1, 1, 4).value(), 1, 1},
        Layout{"Ring", Mesh::make(1, 3, 1, 1).value(), 0, 2},
        Layout{"HostZero2", Mesh::make(2, 1, 1, 1).value(), 2, 2, OptimizerPlace::host},
        Layout{"HostZero3", Mesh::make(2, 1, 1, 2).value(), 3, 2, OptimizerPlace::host},
        Layout{"Blocks", Mesh::make(2, 1, 1, 2).value(), 3, 2, OptimizerPlace::device, 512},
        windows_on("WindowsRing", Mesh::make(1, 3, 1, 1).value(), 0),
        windows_on("WindowsDoubleRing", Mesh::make(1, 4, 1, 1, 2).value(), 2),
        windows_on("WindowsUlysses", Mesh::make(1, 1, 2, 1).value(), 1),
        windows_on("WindowsTensor", Mesh::make(1, 1, 1, 2).value(), 0),
        windows_on("WindowsEverything", Mesh::make(1, 2, 2, 2).value(), 3),
        Layout{"HostBlocks", Mesh::make(2, 1, 1, 1).value(), 3, 2, OptimizerPlace::host, 512}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm
