// 47. A full checkpoint disk ended the attempt, four retries were used up within 25 s, and each
// left a partial checkpoint on the full disk that no later attempt removed; `keep` was counted per
// attempt.
#include <gmock/gmock.h>

#include "tests/support/four_ranks.h"

namespace rm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Regress0047 = test::FourRanks;

TEST_F(Regress0047, ACheckpointThatCannotBeWrittenIsAnAlarmAndTheNextOneIsTried) {
    ASSERT_TRUE(train(3).outcome.ok());
    const auto straight = test::checkpoint_bytes(checkpoint("e1-s3"));
    config_.checkpoint_dir = dir_.file("full");
    Faults faults({{"checkpoint.full", 1}});
    const test::TrainRun run = train(3, &faults);
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_THAT(run.alarms, ElementsAre(AllOf(HasSubstr("no checkpoint of step 1: "),
                                              HasSubstr("No space left on device"),
                                              HasSubstr("training goes on, the newest is none"))));
    EXPECT_THAT(in_checkpoint_dir(), ElementsAre("e1-s2", "e1-s3"));
    EXPECT_EQ(test::checkpoint_bytes(checkpoint("e1-s3")), straight);
}

TEST_F(Regress0047, WhatIsHalfWrittenGoesAtOnce) {
    Faults faults({{"checkpoint.full", 0}});
    const test::TrainRun run = train(1, &faults);
    ASSERT_FALSE(run.outcome.ok()) << "there is no later checkpoint that could be tried";
    EXPECT_THAT(in_checkpoint_dir(), testing::IsEmpty());
    EXPECT_TRUE(train(1).outcome.ok());
}

TEST_F(Regress0047, ANewAttemptRemovesWhatOlderOnesLeft) {
    config_.spec.checkpoint.keep = 5;
    ASSERT_TRUE(train(3).outcome.ok());
    write_file("checkpoints/.tmp-e1-s9/shard", "left by a crash");
    config_.spec.checkpoint.keep = 2;
    config_.epoch = {2};
    const test::TrainRun run = train(1);
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_THAT(in_checkpoint_dir(), ElementsAre("e1-s3", "e2-s4"));
}

}  // namespace
}  // namespace rm
