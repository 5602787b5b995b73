// A step whose documents all have a single token ended the run with an internal check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "engine/data/tokens/megatron_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using testing::Contains;
using testing::HasSubstr;

class Regress0056 : public testing::Test {
protected:
    // On documents of one token each, and now and then a longer one.
    test::TrainRun train(int long_every) {
        auto writer = MegatronWriter::create(dir_.file("set"), 256).value();
        for (int i = 0; i < 3000; ++i) {
            const bool is_long = long_every > 0 && i % long_every == 0;
            RM_CHECK(writer.add_document(std::vector<TokenId>(is_long ? 700 : 1, 'a')).ok(),
                     "a set of documents");
        }
        RM_CHECK(writer.finish().ok(), "a set of documents");
        RankConfig config = test::micro_run(dir_.file("set"), 64, 200);
        config.spec.data.format = "megatron";
        config.spec.data.documents = Documents::separate;
        config.spec.evaluation.tokens = 0;
        config.plan.mesh = Mesh::make(1, 2, 1, 1).value();
        return test::run_training(config, test::cpu_backend(1));
    }
    TempDir dir_;
};

TEST_F(Regress0056, AStepWithoutATargetIsSkippedAndSaid) {
    const test::TrainRun run = train(300);
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_LT(run.steps.size(), 200u);
    EXPECT_GT(run.steps.size(), 100u);
    EXPECT_EQ(run.steps.back().num_steps, 200);
    EXPECT_THAT(run.notes, Contains(HasSubstr("has no target and changes nothing")));
}

TEST_F(Regress0056, DataWithoutAnyTargetFail) {
    const test::TrainRun run = train(0);
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message, HasSubstr("steps 1 to 10 have no target"));
}

}  // namespace
}  // namespace rm
