#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/run/run_rank.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm::test {

// The ranges' mean, weighted by their targets, is the report's loss.
inline void expect_mean_of_positions(const EvaluationReport& report) {
    std::int64_t targets = 0, from = 0;
    double sum = 0;
    for (const PositionLoss& position : report.by_position) {
        EXPECT_GT(position.from_tokens, from);
        from = position.from_tokens;
        targets += position.targets;
        sum += position.loss * static_cast<double>(position.targets);
    }
    EXPECT_EQ(targets, report.targets);
    EXPECT_NEAR(sum / static_cast<double>(targets), report.loss, 1e-12);
}

// Runs of the micro model: 20 steps on a ring of two, unless a test changes that.
class RunRank : public testing::Test {
protected:
    RunRank() {
        for (int i = 0; i < 8; ++i) {
            dir_.write(format("data/{}.txt", i), some_text(static_cast<std::uint64_t>(i), 600));
        }
        config_ = micro_run(dir_.file("data"), 128, 20);
        config_.spec.evaluation = {0, 512};
        config_.checkpoint_dir = dir_.file("checkpoints");
        set_mesh(1, 2);
    }
    void set_mesh(int data, int ring) { config_.plan.mesh = Mesh::make(data, ring, 1, 1).value(); }
    std::string checkpoint(const std::string& dir, int step) const {
        return format("{}/e1-s{}", dir_.file(dir), step);
    }
    TrainRun train() { return run_training(config_, cpu_backend(1, compute_type(config_.spec))); }

    TempDir dir_;
    RankConfig config_;
};

}  // namespace rm::test
