// 135. A stage ended while the last update on the host had yet to read its clip factor: the next
// stage's buffers took its memory, and the same job gave other losses each time, or none that were
// finite.
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

std::vector<double> losses_of(const RankConfig& config) {
    const test::TrainRun run = test::run_training(config, test::cpu_backend(1));
    EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    std::vector<double> losses;
    for (const StepReport& step : run.steps)
        losses.push_back(step.loss);
    return losses;
}

TEST(Regress0135, StagesWithStateOnTheHostTrainToTheSameLossesEachTime) {
    const TempDir dir;
    dir.write("data/a.txt", test::some_text(1, 4000));
    RankConfig config;
    config.spec.name = "stages";
    config.spec.model.preset = "micro";
    config.spec.data = {{{dir.file("data")}}, "text", "bytes", 0};
    config.spec.stages.clear();
    for (const std::int64_t context : {256, 512, 256, 768, 512})
        config.spec.stages.push_back({.context = context, .batch = context, .tokens = context});
    config.spec.optimizer.place = OptimizerPlace::host;
    config.plan.memory = {64, 64};
    for (const int ring : {1, 2}) {
        config.plan.mesh = Mesh::make(1, ring, 1, 1).value();
        const std::vector<double> first = losses_of(config);
        EXPECT_EQ(first.size(), config.spec.stages.size());
        for (int again = 0; again < 3; ++again)
            EXPECT_EQ(losses_of(config), first) << "ring " << ring;
    }
}

}  // namespace
}  // namespace rm
