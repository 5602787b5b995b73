#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tests/support/train_run.h"

namespace rm::test {

// A run of one step in each stage, with state on the host. The contexts differ, so that each stage
// makes buffers of its own.
inline RankConfig staged_run(const std::string& data,
                             std::initializer_list<std::int64_t> contexts) {
    RankConfig config = micro_run(data, 256, 1);
    config.spec.stages.clear();
    for (const std::int64_t context : contexts)
        config.spec.stages.push_back({.context = context, .batch = context, .tokens = context});
    config.spec.optimizer.place = OptimizerPlace::host;
    return config;
}

inline std::vector<double> losses_of(const RankConfig& config) {
    const TrainRun run = run_training(config, cpu_backend(1));
    EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    std::vector<double> losses;
    for (const StepReport& step : run.steps)
        losses.push_back(step.loss);
    EXPECT_EQ(losses.size(), config.spec.stages.size());
    return losses;
}

}  // namespace rm::test
