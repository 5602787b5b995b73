// 134. Each stage in windows on a ring made two streams, and the order of a rank's streams forgot
// none: it ended at the third stage with "a rank has more than 8 streams". Before that it could
// take a new stream for one that was gone, whose address it had.
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

TEST(Regress0134, ManyStagesInWindowsOnARingTrainToTheBitsOfWholeLayers) {
    const TempDir dir;
    dir.write("data/a.txt", test::some_text(1, 4000));
    RankConfig config;
    config.spec.name = "stages";
    config.spec.model.preset = "micro";
    config.spec.data = {{{dir.file("data")}}, "text", "bytes", 0};
    config.spec.stages.clear();
    for (const std::int64_t context : {256, 512, 768, 512, 256, 768})
        config.spec.stages.push_back({.context = context, .batch = context, .tokens = context});
    config.spec.memory.tile = 64;
    config.spec.optimizer.place = OptimizerPlace::host;
    config.plan.memory = {64, 64};
    config.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    const auto losses = [&] {
        const test::TrainRun run = test::run_training(config, test::cpu_backend(1));
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        std::vector<double> all;
        for (const StepReport& step : run.steps)
            all.push_back(step.loss);
        EXPECT_EQ(all.size(), config.spec.stages.size());
        return all;
    };
    const std::vector<double> whole = losses();
    config.plan.memory.kept = KeptPlace::host;
    config.plan.memory.working = WorkingSet::windows;
    EXPECT_EQ(losses(), whole);
}

}  // namespace
}  // namespace rm
