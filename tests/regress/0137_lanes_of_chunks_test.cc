// Steps with `tensor` and one tile a chunk were predicted far too short, even below zero: the
// samples of the chunks differed by one tile, and two tiles take turns.
#include <gtest/gtest.h>

#include "engine/dry_run/dry_job.h"

namespace rm::test {
namespace {

TEST(Regress0137, ATileAChunkIsSampledInPairs) {
    JobSpec spec;
    spec.precision = "bf16";
    spec.stages = {{.context = 1 << 20, .batch = 1 << 20, .tokens = 1 << 20}};
    ModelConfig model = find_preset("llama3-8b").value();
    model.num_layers = 2;
    const std::vector<DeviceProfile> profiles = published_profiles();
    const DryMachine machine{.profile = profiles.data(),
                             .links = uniform_links({Seconds{10e-6}, 12.5e9})};
    const MemoryPolicy memory{.tile_tokens = 8192, .chunk_tokens = 8192};
    for (const int tensor : {2, 4}) {
        const Mesh mesh = Mesh::make(1, 2, 1, tensor).value();
        const DryJob job(spec, model, {mesh, 3}, machine);
        DryRunOptions options = job.options(spec.stages[0]);
        const StageShape shape = job.shape(spec.stages[0], memory);
        const Prediction steady = predict(job.rank(), shape, options).value();
        options.mode = DryRunMode::one_rank;
        const Prediction whole = predict(job.rank(), shape, options).value();
        EXPECT_NEAR(steady.step.value / whole.step.value, 1, 1e-3) << to_string(mesh);
    }
}

}  // namespace
}  // namespace rm::test
