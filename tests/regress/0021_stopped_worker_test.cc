#include "tests/controller/pair.h"

// Stopping a worker with `--orphan stop`, and each restart of `ringmaster up`, counted as a failure
// of the jobs there: four of them ended a job.
namespace rm::test {
namespace {

TEST(Regress0021, StoppedWorkersAreNoFailureOfTheJob) {
    Pair world(retried_spec(1));
    for (int restart = 0; restart < 5; ++restart) {
        world.run();
        world.report("a", ended(0, kRankStopped), Left::no);
        world.report("b", ended(1, kRankStopped), Left::no);
        ASSERT_EQ(world.job(world.id).state, JobState::pending);
        EXPECT_NE(world.reason(world.id).find("that is no failure"), std::string::npos)
            << world.reason(world.id);
        world.wait({2});
        world.start();
    }
    world.run();
    world.fail(1, "words");
    EXPECT_EQ(world.job(world.id).state, JobState::pending) << "the first failure of two";
}

TEST(Regress0021, ARankThatFailsWhileOthersStopIsOne) {
    Pair world(retried_spec(0));
    world.run();
    world.report("a", ended(0, kRankStopped), Left::no);
    world.report("b", ended(1, 1, "disk full"), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::failed);
}

}  // namespace
}  // namespace rm::test
