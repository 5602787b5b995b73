// 46. Only rank 0 checked the hashes of a checkpoint. Now each rank verifies what it reads, so any
// rank may find the damage: then all go back to the checkpoint before it, and the skipped one
// raises an alarm.
#include <gmock/gmock.h>

#include <utility>

#include "tests/support/four_ranks.h"

namespace rm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class Regress0046 : public test::FourRanks {
protected:
    void damage(const std::string& shard) {
        std::fstream file(checkpoint(shard), std::ios::in | std::ios::out | std::ios::binary);
        ASSERT_TRUE(file.is_open());
        file.seekg(-100, std::ios::end);
        const auto byte = static_cast<char>(file.get() ^ 1);
        file.seekp(-100, std::ios::end);
        file.put(byte);
    }
};

TEST_F(Regress0046, WhatOneRankFindsDamagedAllPassOver) {
    ASSERT_TRUE(train(4).outcome.ok());
    const auto straight = test::checkpoint_bytes(checkpoint("e1-s4"));
    damage("e1-s4/shard-00002-of-00004.safetensors");
    config_.epoch = {2};
    const test::TrainRun run = train(1);
    ASSERT_TRUE(run.outcome.ok()) << run.outcome.error().message;
    EXPECT_THAT(
        run.alarms,
        ElementsAre(AllOf(
            HasSubstr("checkpoint e1-s4 skipped: shard-00002-of-00004.safetensors is damaged"),
            HasSubstr("; using e1-s3"))));
    EXPECT_THAT(run.notes, Contains(HasSubstr("e1-s3 at step 3")));
    EXPECT_EQ(test::checkpoint_bytes(checkpoint("e2-s4")), straight);
}

TEST_F(Regress0046, WithoutAWholeOneEveryReasonIsNamed) {
    ASSERT_TRUE(train(3).outcome.ok());
    damage("e1-s2/shard-00001-of-00004.safetensors");
    damage("e1-s3/shard-00003-of-00004.safetensors");
    const test::TrainRun run = train(1);
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_EQ(run.outcome.error().code, ErrorCode::data_loss);
    EXPECT_EQ(run.outcome.error().fact, ErrorFact::no_whole_checkpoint);
    EXPECT_THAT(run.outcome.error().message,
                AllOf(HasSubstr("e1-s3 skipped: shard-00003-of-00004"),
                      HasSubstr("e1-s2 skipped: shard-00001-of-00004")));
    EXPECT_THAT(in_checkpoint_dir(), ElementsAre("e1-s2", "e1-s3")) << "nothing is removed";
    config_.spec.checkpoint.from = std::exchange(config_.checkpoint_dir, dir_.file("fresh"));
    EXPECT_EQ(train(1).outcome.error().fact, ErrorFact::no_whole_beginning);
}

}  // namespace
}  // namespace rm
