// Two runs on one directory of checkpoints wrote into each other's unfinished ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/checkpoint/directory_lock.h"
#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Regress0052, TwoRunsDoNotShareADirectoryOfCheckpoints) {
    TempDir dir;
    dir.write("data/a.txt", test::some_text(1, 600));
    RankConfig config = test::micro_run(dir.file("data"), 128, 2);
    config.spec.evaluation.tokens = 0;
    config.checkpoint_dir = dir.file("checkpoints");
    config.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    {
        const auto held = DirectoryLock::take(config.checkpoint_dir, config.epoch);
        ASSERT_TRUE(held.ok()) << held.error().message;
        const auto run = test::run_training(config, test::cpu_backend(1));
        ASSERT_FALSE(run.outcome.ok());
        EXPECT_THAT(run.outcome.error().message,
                    AllOf(HasSubstr(config.checkpoint_dir + " is in use by another run"),
                          HasSubstr(format("process {} on ", ::getpid()))));
        EXPECT_TRUE(run.steps.empty());
    }
    EXPECT_TRUE(std::filesystem::is_empty(config.checkpoint_dir)) << "the lock's file is gone";
    EXPECT_TRUE(test::run_training(config, test::cpu_backend(1)).outcome.ok());
}

// A lost machine may hold its lock for a long time; the controller has given up its epoch.
TEST(Regress0052, AnotherEpochIsNotHeldUp) {
    TempDir dir;
    const auto lost = DirectoryLock::take(dir.path(), Epoch{3});
    ASSERT_TRUE(lost.ok());
    EXPECT_TRUE(std::filesystem::exists(dir.file(".in-use-e3")));
    const auto next = DirectoryLock::take(dir.path(), Epoch{4});
    ASSERT_TRUE(next.ok());
    EXPECT_FALSE(std::filesystem::exists(dir.file(".in-use-e3")));
    EXPECT_FALSE(DirectoryLock::take(dir.path(), Epoch{4}).ok());
}

}  // namespace
}  // namespace rm
