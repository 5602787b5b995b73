#include "tests/controller/pair.h"

// Rules compared wall times: a clock set forward by an hour declared every running job lost, one
// set back by an hour delayed a retry by as long.
namespace rm::test {
namespace {

TEST(Regress0024, AClockSetForwardLosesNothing) {
    Pair world(retried_spec());
    world.run();
    world.clock_error = Seconds{7200};
    world.wait({1});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    EXPECT_EQ(world.state.nodes.at({"a"}).state, NodeState::ready);
}

TEST(Regress0024, AClockSetBackDelaysNoRetryAndHidesNoSilence) {
    Pair world(retried_spec());
    world.run();
    world.fail(1, "words");
    world.clock_error = Seconds{-7200};
    world.wait({2});
    EXPECT_EQ(world.job(world.id).retry_at.micros, 0) << "it has come";
    world.start();
    world.run();
    world.session_down("a");
    world.session_down("b");
    world.wait({1801});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
}

TEST(Regress0024, ARetryOfBeforeARestartWithTheClockSetBackComesAtOnce) {
    Pair world(retried_spec());
    world.run();
    world.fail(1, "words");
    world.now = world.now + Seconds{-7200};
    rebuild_indexes(world.state, world.now);
    world.wait({1});
    EXPECT_EQ(world.job(world.id).retry_at.micros, 0);
}

}  // namespace
}  // namespace rm::test
