// `continue` named the last checkpoint known to the controller. If a worker could not report later
// ones, that one had been pruned long ago, and the new job failed beside whole ones.
#include <gmock/gmock.h>

#include "tests/support/four_ranks.h"

namespace rm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A job continues another's training in a directory of its own.
class Regress0080 : public test::FourRanks {
protected:
    void go_on_from(const std::string& path) {
        config_.spec.checkpoint.from = path;
        config_.checkpoint_dir = dir_.file("continued");
        config_.epoch = {2};
    }
};

TEST_F(Regress0080, TheNewestWholeCheckpointOfADirectoryIsTaken) {
    ASSERT_TRUE(train(4).outcome.ok());
    ASSERT_THAT(in_checkpoint_dir(), ElementsAre("e1-s3", "e1-s4")) << "e1-s2 is pruned";
    const std::string parent = config_.checkpoint_dir;
    const auto straight = test::checkpoint_bytes(checkpoint("e1-s4"));
    std::filesystem::resize_file(checkpoint("e1-s4/shard-00002-of-00004.safetensors"), 100);
    go_on_from(parent + "/");
    const test::TrainRun run = train(1);
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_THAT(run.notes, Contains(HasSubstr("resumed from " + parent)));
    EXPECT_THAT(run.notes, Contains(HasSubstr("/e1-s3 at step 3")));
    EXPECT_THAT(run.alarms, ElementsAre(AllOf(HasSubstr("e1-s4 skipped"), HasSubstr("e1-s3"))));
    EXPECT_EQ(test::checkpoint_bytes(checkpoint("e2-s4")), straight) << "as if nothing had been";
    config_.checkpoint_dir = parent;
    EXPECT_THAT(in_checkpoint_dir(), ElementsAre("e1-s3", "e1-s4")) << "the other's are left alone";
}

TEST_F(Regress0080, ItsOwnCheckpointsComeFirst) {
    ASSERT_TRUE(train(4).outcome.ok());
    go_on_from(config_.checkpoint_dir);
    ASSERT_TRUE(train(1).outcome.ok());
    const test::TrainRun again = train(1);
    ASSERT_TRUE(again.outcome.ok()) << again.outcome.error().message;
    EXPECT_THAT(again.notes, Contains(HasSubstr("continued/e2-s5 at step 5")));
}

TEST_F(Regress0080, WithoutAnyItDoesNotBeginAnew) {
    std::filesystem::create_directories(dir_.file("empty"));
    for (const std::string& path : {dir_.file("empty"), dir_.file("nowhere")}) {
        go_on_from(path);
        const test::TrainRun run = train(1);
        ASSERT_FALSE(run.outcome.ok());
        EXPECT_EQ(run.outcome.error().code, ErrorCode::not_found);
        EXPECT_EQ(run.outcome.error().message,
                  format("checkpoint.from {}: no checkpoint in {}", path, path));
        EXPECT_TRUE(run.steps.empty());
    }
}

TEST_F(Regress0080, AnExactNameIsTakenAtItsWord) {
    ASSERT_TRUE(train(4).outcome.ok());
    go_on_from(config_.checkpoint_dir + "/e1-s2");
    const test::TrainRun run = train(1);
    ASSERT_FALSE(run.outcome.ok()) << "whoever names one wants that one";
    EXPECT_THAT(run.outcome.error().message, AllOf(HasSubstr("checkpoint.from "),
                                                   HasSubstr("e1-s2"), HasSubstr("No such file")));
}

}  // namespace
}  // namespace rm
