// An unwritable directory was noticed only after the training, and the model was lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Regress0054 : public testing::Test {
protected:
    Regress0054() {
        dir_.write("data/a.txt", test::some_text(1, 600));
        config_ = test::micro_run(dir_.file("data"), 128, 2);
        config_.spec.evaluation.tokens = 0;
        config_.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    }
    void expect_refused_at_once(const std::string& words) {
        const test::TrainRun run = test::run_training(config_, test::cpu_backend(1));
        ASSERT_FALSE(run.outcome.ok());
        EXPECT_THAT(run.outcome.error().message, HasSubstr(words));
        EXPECT_TRUE(run.steps.empty());
    }

    TempDir dir_;
    RankConfig config_;
};

TEST_F(Regress0054, AnExportOntoSomethingElseIsRefusedBeforeTheFirstStep) {
    dir_.write("model/thesis.tex", "my only copy");
    config_.spec.exports.huggingface = dir_.file("model");
    expect_refused_at_once("something is there that is not an earlier export");
    EXPECT_TRUE(std::filesystem::exists(dir_.file("model/thesis.tex")));
}

TEST_F(Regress0054, PlacesThatCannotBeMadeAreRefusedBeforeTheFirstStep) {
    config_.checkpoint_dir = "/proc/x";
    expect_refused_at_once("/proc/x");
    config_.checkpoint_dir.clear();
    config_.spec.exports.huggingface = "/proc/x/model";
    expect_refused_at_once("/proc/x");
}

TEST_F(Regress0054, ATrainedModelIsNotLostToAnExportThatFails) {
    config_.spec.exports.huggingface = dir_.file("model/");
    Faults faults(Faults::parse("checkpoint.full@3").value());
    const test::TrainRun run = test::run_training(config_, test::cpu_backend(1), &faults);
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message,
                AllOf(HasSubstr("export.huggingface"),
                      HasSubstr("the trained model is in " + dir_.file("model.rescued"))));
    EXPECT_TRUE(std::filesystem::exists(dir_.file("model.rescued/model.safetensors")));
}

}  // namespace
}  // namespace rm
