#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

// A machine that died held its job and the healthy devices of its peers for retry.lost_after, half
// an hour: the attempt went on stopping until the dead node had said that nothing was left.
namespace rm::test {
namespace {

struct Vanished : Pair {
    Vanished() : Pair(retried_spec(3, ring(2))) {
        run();
        hello("spare", 1);
        session_down("b");
    }
    // Its worker sees a dead peer, stops its rank and has nothing left.
    void peer_ends() { report("a", ended(0, kRankLostPeer, "lost peer rank 1"), Left::no); }
};

TEST(Regress0019, TheNextAttemptComesOneNodeTimeoutAfterANodeHasVanished) {
    Vanished world;
    world.peer_ends();
    world.wait({59});
    EXPECT_EQ(world.job(world.id).state, JobState::stopping);
    world.wait({2});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
    EXPECT_EQ(world.attempt(world.id).cause, "node b has had no session for 1m00s");
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::lost);
    world.wait({2});
    world.plan(world.id, {"a", "spare"});
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
}

TEST(Regress0019, DevicesOfHealthyNodesAreFreeAtOnceAndThoseOfTheDeadNodeAreNot) {
    Vanished world;
    world.peer_ends();
    const JobId other = world.submit(small_spec(ring(2)));
    const auto decisions = plan_jobs(planning_snapshot(world.state, world.now));
    EXPECT_EQ(std::get<Plan>(decisions.at(0).decision).placement,
              (std::vector<DeviceId>{{{"a"}, 0}, {{"spare"}, 0}}));
    world.wait({70});
    EXPECT_EQ(device_holders(world.state).at({{"b"}, 0}).epoch, world.epoch);
    // It returns with its rank: the rank is stopped, and only then its device is free.
    EXPECT_EQ(commands<StopAttempt>(world.hello_with_rank("b", 1)).size(), 1u);
    EXPECT_TRUE(device_holders(world.state).contains({{"b"}, 0}));
    world.report("b", ended(1, kRankStopped), Left::no);
    EXPECT_FALSE(device_holders(world.state).contains({{"b"}, 0})) << other;
}

TEST(Regress0019, APeerThatHangsInsteadOfFailingIsNotWaitedForEither) {
    Vanished world;
    RankStatus hangs = training(0);
    hangs.step = 9;
    hangs.quiet = Seconds{61};
    hangs.longest_quiet = Seconds{2};
    world.wait({30});
    world.report("a", hangs);
    world.wait({1});
    EXPECT_EQ(world.job(world.id).state, JobState::running) << "node b may come back";
    EXPECT_EQ(commands<StopAttempt>(world.wait({30})).size(), 1u);
    EXPECT_EQ(world.attempt(world.id).cause,
              "node b has had no session for 1m00s, and the ranks elsewhere make no progress");
    world.report("a", ended(0, kRankStopped), Left::no);
    world.wait({1});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
}

TEST(Regress0019, ALaunchThatADeadNodeNeverConfirmedIsGivenUp) {
    Pair world(retried_spec(3, ring(2)));
    world.report("a", training(0));
    world.session_down("b");
    world.wait({61});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::stopping);
    world.report("a", ended(0, kRankStopped), Left::no);
    world.wait({1});
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
}

TEST(Regress0019, AnAttemptThatProgressesWithoutOneOfItsNodesIsLeftAlone) {
    Vanished world;
    for (int i = 1; i < 30; ++i) {
        RankStatus works = training(0);
        works.step = i;
        works.quiet = Seconds{1};
        world.report("a", works);
        world.wait({60});
    }
    EXPECT_EQ(world.job(world.id).state, JobState::running);
}

TEST(Regress0019, ANodeThatFellSilentBeforeItsSessionEndedIsTimedFromThen) {
    Vanished world;
    world.hello_with_rank("b", 1);
    world.peer_ends();
    world.apply(NodeSessionDown{{"b"}, Seconds{19}});
    world.wait({42});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
}

}  // namespace
}  // namespace rm::test
