// HFU came from a formula that ignored what the memory policy recomputes.
#include <gtest/gtest.h>

#include "engine/dry_run/predict.h"
#include "tests/support/rank_rig.h"

namespace rm {
namespace {

struct Policy {
    Keep keep;
    double alpha;
};

// The FLOPs of all ranks, as their schedules were recorded.
double recorded_flops(const test::RigConfig& rig, const MemoryPolicy& memory) {
    double flops = 0;
    for (int rank = 0; rank < rig.mesh.num_ranks(); ++rank) {
        RankSpec spec;
        spec.model = rig.model;
        spec.mesh = rig.mesh;
        spec.rank = rank;
        const auto kernels = rig.backend();
        DryRunOptions options{.types = kernels->types(), .like = kernels.get()};
        options.micro_batches = rig.sequences;
        const auto prediction = predict(spec, {rig.context, memory, rig.model.rope}, options);
        RM_CHECK(prediction.ok(), "{}", prediction.error().message);
        flops += prediction->executed_flops;
    }
    return flops;
}

TEST(Regress0057, AStepCountsTheFlopsThatItsScheduleExecutes) {
    test::RigConfig rig;
    rig.backend = test::cpu_backend(1);
    rig.model = test::small_model();
    rig.context = 256;
    rig.sequences = 2;
    double least = 0;
    for (const int ring : {1, 2}) {
        rig.mesh = Mesh::make(1, ring, 1, 1).value();
        for (const auto& [keep, alpha] : {Policy{Keep::input_and_attention, 1},
                                          {Keep::input_and_attention, 0},
                                          {Keep::input, 1},
                                          {Keep::input, 0}}) {
            rig.memory.keep = keep;
            rig.memory.alpha = alpha;
            MemoryPolicy memory = rig.memory;
            memory.tile_tokens = rig.tile;
            memory.chunk_tokens = rig.chunk;
            const double counted = test::run_rig(rig).last.executed_flops;
            EXPECT_NEAR(counted / recorded_flops(rig, memory), 1, 1e-9)
                << "ring " << ring << ", alpha " << alpha;
            if (least == 0) least = counted;
            EXPECT_TRUE(alpha == 1 || counted > 1.1 * least);
        }
    }
}

}  // namespace
}  // namespace rm
