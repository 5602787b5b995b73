#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm::test {

// A job of four ranks, ZeRO-3 over the data axis, with a checkpoint after every step: each rank
// reads the shard that it has written, and no other.
class FourRanks : public testing::Test {
protected:
    FourRanks() {
        write_file("text/a.txt", some_text(1, 4000));
        config_ = micro_run(dir_.file("text"), 128, 20);
        config_.spec.stages[0].batch = 4 * 128;
        config_.spec.stages[0].tokens = 20 * 4 * 128;
        config_.spec.checkpoint = {"", 1, 2};
        config_.spec.zero = 3;
        config_.plan.mesh = Mesh::make(4, 1, 1, 1).value();
        config_.plan.zero = 3;
        config_.checkpoint_dir = dir_.file("checkpoints");
    }

    void write_file(const std::string& name, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(dir_.file(name)).parent_path());
        std::ofstream(dir_.file(name), std::ios::binary) << text;
    }
    TrainRun train(std::int64_t num_steps, Faults* faults = nullptr) {
        config_.stop_after_steps = num_steps;
        return run_training(config_, cpu_backend(1), faults);
    }
    std::string checkpoint(const std::string& name) const {
        return config_.checkpoint_dir + "/" + name;
    }
    std::vector<std::string> in_checkpoint_dir() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(config_.checkpoint_dir))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }

    TempDir dir_;
    RankConfig config_;
};

}  // namespace rm::test
