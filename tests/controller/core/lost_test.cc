#include "controller/core/due.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

struct Silent : Pair {
    Silent() : Pair(retried_spec()) {
        run();
        session_down("a");
        session_down("b");
    }
    void lose() { wait({1801}); }
};

TEST(Lost, ASessionThatIsDownChangesNothing) {
    Silent world;
    world.wait({1700});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
}

TEST(Lost, WithoutAWordForLostAfterTheAttemptIsLostAndItsJobTriedAgain) {
    Silent world;
    EXPECT_TRUE(due_times(world.state, world.now + Seconds{1799}).lost.empty());
    world.lose();
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::lost);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_NE(world.reason(world.id).find("attempt 1 lost (lost): no worker has reported on it for "
                                          "30m01s"),
              std::string::npos)
        << world.reason(world.id);
}

// All ranks stop together when the machine of one of them shuts down.
struct ShutDown : Pair {
    ShutDown() : Pair(retried_spec(0)) {
        run();
        session_down("a");
        report("b", ended(1, kRankStopped), Left::no);
    }
    Outcome boot() {
        Hello hello = hello_of("a", 1, {status_of(epoch, id, {ended(0, kRankStopped)}, Left::no)});
        hello.boot_id = "boot-2";
        return apply(NodeHello{hello});
    }
};

TEST(Lost, AMachineThatHasRebootedIsNoFailureOfTheJob) {
    ShutDown world;
    EXPECT_EQ(world.job(world.id).state, JobState::running) << "its other end is unknown";
    world.boot();
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_NE(world.reason(world.id).find("its workers were stopped"), std::string::npos);
    world.wait({2});
    world.start();
    world.run();
    world.fail(1, "words");
    EXPECT_EQ(world.job(world.id).state, JobState::failed) << "that is the first one";
}

TEST(Lost, NorIsOneThatStaysAwayAfterItHasShutDown) {
    ShutDown world;
    world.wait({70});
    world.apply(NodeUnreachable{{"a"}});
    for (int minute = 0; minute < 40 && world.job(world.id).state != JobState::pending; ++minute)
        world.wait({60});
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_NE(world.reason(world.id).find("that is no failure"), std::string::npos)
        << world.reason(world.id);
    world.hello("c", 1);
    world.wait({2});
    world.plan(world.id, {"b", "c"});
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
    world.boot();
    EXPECT_EQ(world.job(world.id).state, JobState::starting) << "the older attempt is over";
}

TEST(Lost, AStallInWhichNoRankStoppedIsAFailure) {
    Pair world(retried_spec(0));
    world.run();
    world.session_down("a");
    world.report("b", ended(1, kRankLostPeer, "lost peer rank 0"), Left::no);
    for (int minute = 0; minute < 40 && world.job(world.id).state != JobState::failed; ++minute) {
        world.wait({60});
        if (minute == 1) world.apply(NodeUnreachable{{"a"}});
    }
    EXPECT_EQ(world.job(world.id).state, JobState::failed);
}

TEST(Lost, OneWorkerThatSpeaksIsEnough) {
    Silent world;
    world.wait({1000});
    world.hello_with_rank("b", 1);
    world.wait({1000});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    world.report("b", training(1));
    world.wait({1700});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    world.wait({200});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
}

TEST(Lost, AStartOfTheControllerCountsAnew) {
    Silent world;
    world.wait({1700});
    rebuild_indexes(world.state, world.now);
    world.wait({1700});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    world.wait({200});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
}

TEST(Lost, ItsDevicesAreNotFreeUntilTheirWorkersHaveSpoken) {
    Silent world;
    world.lose();
    world.wait({2});
    world.hello("c", 1);
    world.hello_with_rank("b", 1);
    world.plan(world.id, {"b", "c"});
    EXPECT_NE(world.reason(world.id).find("device b:0 is held by attempt 1"), std::string::npos);
    EXPECT_TRUE(device_holders(world.state).contains({{"a"}, 0})) << "node a has not spoken";
    world.hello("a", 1);
    world.plan(world.id, {"a", "c"});
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
    EXPECT_GT(world.epoch_of(world.id), world.epoch);
}

TEST(Lost, ItsWorkersAreToldToStopItAndThenToForgetIt) {
    Silent world;
    world.lose();
    const auto stops = commands<StopAttempt>(world.hello_with_rank("a", 0));
    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0].mode, StopMode::now);
    const Outcome gone = world.report("a", ended(0, kRankStopped), Left::no);
    EXPECT_EQ(commands<ForgetAttempt>(gone).size(), 1u);
    EXPECT_EQ(world.state.leftover.size(), 1u) << "node b has not spoken";
    world.hello("b", 1);
    EXPECT_TRUE(world.state.leftover.empty());
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost) << "an end is an end";
}

TEST(Lost, WhatIsLeftSurvivesARestartOfTheController) {
    Silent world;
    world.lose();
    rebuild_indexes(world.state, world.now);
    check_invariants(world.state);
    EXPECT_EQ(world.state.leftover.size(), 1u);
    EXPECT_TRUE(device_holders(world.state).contains({{"a"}, 0}));
}

TEST(Lost, ALaunchThatWasNotAcknowledgedIsStoppedInTheSameSession) {
    Pair world(retried_spec());
    const Outcome outcome = world.wait({1801});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
    EXPECT_EQ(commands<StopAttempt>(outcome).size(), 2u);
    world.apply(NodeRefused{{"a"}, {world.epoch, "this worker does not have this attempt"}});
    world.apply(NodeRefused{{"b"}, {world.epoch, "this worker does not have this attempt"}});
    EXPECT_TRUE(world.state.leftover.empty());
}

TEST(Lost, ACancelledAttemptThatNobodySpeaksOfEndsItsJobAsCancelled) {
    Silent world;
    world.apply(CancelJob{world.id});
    world.lose();
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
}

TEST(Gone, ANodeThatIsGoneFailsItsAttemptsAtOnce) {
    Silent world;
    world.apply(NodeGone{{"b"}, "the provider took it"}, 1);
    EXPECT_EQ(world.state.nodes.at({"b"}).state, NodeState::gone);
    EXPECT_EQ(world.job(world.id).state, JobState::stopping) << "node a may still run its rank";
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::lost);
    const auto stops = commands<StopAttempt>(world.hello_with_rank("a", 0));
    ASSERT_EQ(stops.size(), 1u);
    world.report("a", ended(0, kRankLostPeer, "lost"), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_EQ(world.attempt(world.id).cause, "rank 1 is gone with node b: the provider took it");
}

TEST(Gone, ItsDevicesNeedNotBeHeardOfAgain) {
    Silent world;
    world.lose();
    world.apply(NodeGone{{"a"}});
    world.apply(NodeGone{{"b"}});
    EXPECT_TRUE(world.state.leftover.empty());
    EXPECT_TRUE(device_holders(world.state).empty());
}

TEST(Gone, AHelloBringsTheNodeBack) {
    World world;
    world.hello("a", 1);
    world.session_down("a");
    world.apply(NodeGone{{"a"}});
    world.hello("a", 1);
    EXPECT_EQ(world.state.nodes.at({"a"}).state, NodeState::ready);
    const JobId id = world.submit(small_spec());
    world.plan(id, {"a"});
    EXPECT_EQ(world.job(id).state, JobState::starting);
}

TEST(Gone, ANodeWithASessionIsNot) {
    World world;
    world.hello("a", 1);
    EXPECT_EQ(reply(world.apply(NodeGone{{"a"}}, 1)).error().code, ErrorCode::failed_precondition);
    EXPECT_EQ(reply(world.apply(NodeGone{{"x"}}, 1)).error().code, ErrorCode::not_found);
}

TEST(Gone, ARebootTakesTheRanksOfItsNode) {
    Silent world;
    Hello hello = hello_of("b", 1);
    hello.boot_id = "boot-2";
    world.apply(NodeHello{hello});
    EXPECT_EQ(world.attempt(world.id).cause,
              "rank 1 is gone with node b: its machine was restarted");
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::lost);
}

}  // namespace
}  // namespace rm::test
