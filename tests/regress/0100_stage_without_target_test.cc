// A stage whose last step had no target was never reported as done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "engine/data/tokens/megatron_writer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

TEST(Regress0100, AStageEndsWithAStepWithoutATarget) {
    const TempDir dir;
    auto writer = MegatronWriter::create(dir.file("set"), 256).value();
    for (int i = 0; i < 2000; ++i) {
        // Nothing follows the only token of a document, so no step has a target.
        RM_CHECK(writer.add_document(std::vector<TokenId>{'a'}).ok(), "a set of documents");
    }
    RM_CHECK(writer.finish().ok(), "a set of documents");
    RankConfig config = test::micro_run(dir.file("set"), 64, 3);
    config.spec.data.format = "megatron";
    config.spec.data.documents = Documents::separate;
    config.spec.evaluation.tokens = 0;
    config.spec.stages.push_back(config.spec.stages[0]);
    const test::TrainRun run = test::run_training(config, test::cpu_backend(1));
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_THAT(run.stages_done, testing::ElementsAre(std::pair(0, 3), std::pair(1, 6)));
}

}  // namespace
}  // namespace rm
