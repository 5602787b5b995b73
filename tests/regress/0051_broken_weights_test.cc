// A job that began from weights with a NaN ran to its end and skipped every step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "engine/hf/directory.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Regress0051 : public testing::Test {
protected:
    Regress0051() {
        dir_.write("data/a.txt", test::some_text(1, 600));
        config_ = test::micro_run(dir_.file("data"), 128, 1);
        config_.spec.evaluation.tokens = 0;
        config_.spec.exports.huggingface = dir_.file("model");
        config_.plan.mesh = Mesh::make(2, 1, 1, 1).value();
    }
    test::TrainRun train() { return test::run_training(config_, test::cpu_backend(1)); }

    TempDir dir_;
    RankConfig config_;
};

TEST_F(Regress0051, WeightsThatAreNotFiniteAreRefusedWhereTheyAreRead) {
    ASSERT_TRUE(train().outcome.ok());
    const std::string path = dir_.file("model/model.safetensors");
    const std::string name = "model.layers.1.mlp.up_proj.weight";
    std::int64_t at = 0;
    std::int64_t columns = 0;
    {
        const auto file = SafetensorsFile::open(path);
        ASSERT_TRUE(file.ok());
        for (const SafetensorsEntry& entry : file->header().entries) {
            if (entry.name != name) continue;
            columns = entry.shape[1];
            at = file->header().data_start + entry.begin;
        }
    }
    ASSERT_GT(columns, 0);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at + (3 * columns + 5) * 4);
    file.write(reinterpret_cast<const char*>(&nan), sizeof nan);
    file.close();

    config_.spec.model = {.preset = "", .from = dir_.file("model")};
    config_.spec.exports.huggingface.clear();
    config_.model.reset();
    const test::TrainRun run = train();
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message,
                AllOf(HasSubstr(dir_.file("model")), HasSubstr(name + "[3, 5] is nan")));
    EXPECT_TRUE(run.steps.empty());
}

// Without an evaluation, which would have reported it.
TEST_F(Regress0051, WeightsThatAreNotFiniteAreNotExported) {
    config_.spec.stages[0].learning_rate = 1e300;
    const test::TrainRun run = train();
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message, HasSubstr("not finite is not exported"));
    EXPECT_FALSE(std::filesystem::exists(dir_.file("model")));
    EXPECT_FALSE(std::filesystem::exists(dir_.file("model.rescued")));
}

}  // namespace
}  // namespace rm
