#include "controller/core/due.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

TEST(Attempt, RunsOnceEveryRankTrains) {
    Pair world;
    world.report("a", training(0));
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
    const Outcome outcome = world.report("b", training(1));
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    ASSERT_EQ(outcome.transitions.size(), 1u);
    EXPECT_EQ(outcome.transitions[0].from, JobState::starting);
}

TEST(Attempt, StepsInAStatusAreNoEvent) {
    Pair world;
    world.run();
    RankStatus later = training(0);
    later.step = 17;
    EXPECT_TRUE(world.report("a", later).events.empty());
}

TEST(Attempt, SucceedsWhenEveryRankFinishedAndNoProcessIsLeft) {
    Pair world;
    world.run();
    world.report("a", ended(0, 0));
    world.report("b", ended(1, 0), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::running) << "a process of node a is left";
    const Outcome outcome = world.report("a", ended(0, 0), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::succeeded);
    EXPECT_EQ(commands<ForgetAttempt>(outcome).size(), 2u) << "both directories may go";
}

TEST(Attempt, FailsWithTheWordsOfTheRankThatDiedFirst) {
    World world;
    world.hello("a", 3);
    const JobId id = world.submit(small_spec());
    Plan plan{.mesh = ring(3), .placement = {{{"a"}, 0}, {{"a"}, 1}, {{"a"}, 2}}};
    // 8192 tokens pad well on a ring of 3.
    world.apply(PlanReady{id, world.state.planning_version, plan});
    ASSERT_EQ(world.job(id).state, JobState::starting);
    const Epoch epoch = world.epoch_of(id);
    const Outcome outcome = world.status(
        "a", status_of(epoch, id,
                       {ended(0, 1, "second", 20), ended(1, 1, "no data in /x", 10), training(2)},
                       Left::yes));
    EXPECT_EQ(world.attempt(id).cause, "rank 1: no data in /x");
    EXPECT_EQ(world.job(id).state, JobState::stopping);
    const auto stops = commands<StopAttempt>(outcome);
    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0].mode, StopMode::now);
    RankStatus killed = ended(2, 0);
    killed.exit_signal = 9;
    world.status("a", status_of(epoch, id, {killed}, Left::no));
    EXPECT_EQ(world.job(id).state, JobState::failed);
    EXPECT_EQ(world.job(id).failure, "rank 1: no data in /x");
}

TEST(Attempt, ALostPeerIsNotTheCauseWhenTheDeadRankSpeaksLater) {
    Pair world;
    world.run();
    world.report("a", ended(0, kRankLostPeer, "lost peer rank 1"));
    EXPECT_EQ(world.attempt(world.id).cause, "rank 0: lost peer rank 1");
    world.report("b", ended(1, 1, "loss is not finite"), Left::no);
    world.report("a", ended(0, kRankLostPeer, "lost peer rank 1"), Left::no);
    EXPECT_EQ(world.job(world.id).failure, "rank 1: loss is not finite");
}

TEST(Attempt, RanksKilledByTheStopAreNotTheCause) {
    Pair world;
    world.run();
    world.report("a", ended(0, kRankLostPeer, "lost peer rank 1"));
    RankStatus killed = ended(1, 0);
    killed.exit_signal = 9;
    world.report("b", killed, Left::no);
    world.report("a", ended(0, kRankLostPeer, "lost peer rank 1"), Left::no);
    EXPECT_EQ(world.job(world.id).failure, "rank 0: lost peer rank 1");
}

TEST(Attempt, ThatCannotStartNamesTheNode) {
    Pair world;
    AttemptStatus status = status_of(world.epoch, world.id, {}, Left::no);
    status.launch_error = "no space left";
    world.status("a", status);
    EXPECT_EQ(world.job(world.id).state, JobState::stopping);
    world.report("b", ended(1, kRankStopped), Left::no);
    EXPECT_EQ(world.job(world.id).failure, "node a could not start its ranks: no space left");
}

TEST(Attempt, RefusedByAWorkerFails) {
    Pair world;
    world.apply(NodeRefused{{"a"}, {world.epoch, "epoch 1 is below 9"}});
    world.apply(NodeRefused{{"b"}, {world.epoch, "epoch 1 is below 9"}});
    EXPECT_EQ(world.job(world.id).failure, "node a refused to start its ranks: epoch 1 is below 9");
}

TEST(Attempt, KeepsTheNewestCheckpointAndStage) {
    Pair world;
    world.run();
    AttemptStatus status = status_of(world.epoch, world.id, {training(0)}, Left::yes);
    status.checkpoint_step = 20;
    status.checkpoint_path = "/c/e1-s20";
    status.stages_done = 1;
    world.status("a", status);
    world.report("b", training(1));
    EXPECT_EQ(world.attempt(world.id).checkpoint_step, 20);
    EXPECT_EQ(world.attempt(world.id).checkpoint_path, "/c/e1-s20");
    EXPECT_EQ(world.attempt(world.id).stages_done, 1);
}

TEST(Cancel, IsGracefulAndEndsAsCancelled) {
    Pair world;
    world.run();
    const auto stops = commands<StopAttempt>(world.apply(CancelJob{world.id}));
    ASSERT_EQ(stops.size(), 2u);
    EXPECT_EQ(stops[0].mode, StopMode::graceful);
    world.report("a", ended(0, kRankStopped), Left::no);
    world.report("b", ended(1, kRankStopped), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::cancelled);
}

TEST(Cancel, AgainWithNowStopsHarder) {
    Pair world;
    world.run();
    world.apply(CancelJob{world.id});
    const auto stops = commands<StopAttempt>(world.apply(CancelJob{world.id, StopMode::now}));
    ASSERT_EQ(stops.size(), 2u);
    EXPECT_EQ(stops[0].mode, StopMode::now);
}

TEST(Cancel, ThatComesAfterTheLastStepIsASuccess) {
    Pair world;
    world.run();
    world.apply(CancelJob{world.id});
    world.report("a", ended(0, 0), Left::no);
    world.report("b", ended(1, 0), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
}

TEST(Cancel, WithACheckpointThatFailsIsCancelledAndSaysSo) {
    Pair world;
    world.run();
    world.apply(CancelJob{world.id});
    world.report("a", ended(0, 1, "disk full"), Left::no);
    world.report("b", ended(1, kRankLostPeer, "lost"), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
    EXPECT_EQ(world.attempt(world.id).cause, "cancelled; while stopping, rank 0: disk full");
}

TEST(Cancel, BeforeTheLaunchArrivedEndsWhenTheWorkerSaysNothingIsThere) {
    Pair world;
    world.apply(NodeSessionDown{{"a"}});
    world.apply(CancelJob{world.id});
    world.report("b", ended(1, kRankStopped), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::stopping) << "node a has not spoken";
    world.hello("a", 1);
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
}

TEST(Session, AHelloWithoutTheAttemptGetsTheLaunchAgain) {
    Pair world;
    world.apply(NodeSessionDown{{"a"}});
    EXPECT_EQ(commands<LaunchAttempt>(world.hello("a", 1)).size(), 1u);
}

TEST(Session, AHelloWithTheAttemptGetsNothing) {
    Pair world;
    world.run();
    world.apply(NodeSessionDown{{"a"}});
    EXPECT_EQ(world.job(world.id).state, JobState::running) << "unknown is not dead";
    const Outcome outcome =
        world.hello("a", 1, {status_of(world.epoch, world.id, {training(0)}, Left::yes)});
    EXPECT_TRUE(commands<LaunchAttempt>(outcome).empty());
    EXPECT_EQ(world.job(world.id).state, JobState::running);
}

TEST(Session, ALaunchedAttemptThatTheWorkerHasForgottenFails) {
    Pair world;
    world.run();
    world.apply(NodeSessionDown{{"a"}});
    world.hello("a", 1);
    EXPECT_EQ(world.job(world.id).state, JobState::stopping);
    EXPECT_NE(world.attempt(world.id).cause.find("has no record of it"), std::string::npos);
}

TEST(Session, WhatHappenedWhileItWasAwayArrivesWithTheHello) {
    Pair world;
    world.run();
    world.report("b", ended(1, 0), Left::no);
    world.apply(NodeSessionDown{{"a"}});
    const Outcome outcome =
        world.hello("a", 1, {status_of(world.epoch, world.id, {ended(0, 0)}, Left::no)});
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
    EXPECT_EQ(commands<ForgetAttempt>(outcome).size(), 2u);
}

TEST(Commands, OverdueLaunchesAreSentAgainAndNotSooner) {
    Pair world;
    EXPECT_TRUE(commands<LaunchAttempt>(world.apply(CommandsDue{})).empty());
    world.now.micros += 11'000'000;
    EXPECT_EQ(commands<LaunchAttempt>(world.apply(CommandsDue{})).size(), 2u);
    world.report("a", {.rank = 0, .running = true});
    world.now.micros += 11'000'000;
    EXPECT_EQ(commands<LaunchAttempt>(world.apply(CommandsDue{})).size(), 1u);
}

// A worker refuses an epoch below one it has seen.
TEST(Commands, LaunchesGoOutInTheOrderOfEpochs) {
    for (int seed = 0; seed < 8; ++seed) {
        World world;
        world.hello("a", 4);
        std::vector<JobId> ids;
        for (int i = 0; i < 4; ++i) {
            const InputBody submit = SubmitJob{{format("r{}", i)},
                                               small_spec(ring(1)),
                                               "",
                                               static_cast<std::uint64_t>(seed * 100 + i)};
            ids.push_back(reply(world.apply(submit, 1)).value());
        }
        for (int i = 0; i < 4; ++i) {
            Plan plan{.mesh = ring(1), .placement = {{{"a"}, i}}};
            world.apply(PlanReady{ids[static_cast<std::size_t>(i)], 1, plan});
        }
        world.apply(NodeSessionDown{{"a"}});
        const auto launches = commands<LaunchAttempt>(world.hello("a", 4));
        ASSERT_EQ(launches.size(), 4u);
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(launches[static_cast<std::size_t>(i)].epoch, Epoch{i + 1}) << "seed " << seed;
        }
    }
}

TEST(Commands, AfterARestartFollowFromTheTables) {
    Pair world;
    world.run();
    world.apply(CancelJob{world.id});
    rebuild_indexes(world.state, world.now);
    const Outcome outcome =
        world.hello("a", 1, {status_of(world.epoch, world.id, {training(0)}, Left::yes)});
    EXPECT_EQ(commands<StopAttempt>(outcome).size(), 1u);
}

TEST(Fencing, AHelloWithAHigherEpochRaisesTheCounter) {
    World world;
    Hello hello = hello_of("a", 1);
    hello.highest_epoch = {41};
    world.apply(NodeHello{hello});
    EXPECT_EQ(world.state.next_epoch, Epoch{42});
    const JobId id = world.submit(small_spec());
    world.plan(id, {"a"});
    EXPECT_EQ(world.epoch_of(id), Epoch{42});
}

TEST(Fencing, ADeviceWithProcessesOfAnOlderEpochIsNotFree) {
    World world;
    world.hello("a", 2, {status_of({5}, {"stranger"}, {training(1)}, Left::yes)});
    EXPECT_TRUE(device_holders(world.state).contains({{"a"}, 0})) << "rank 1 is on device 0";
    const JobId id = world.submit(small_spec());
    world.plan(id, {"a"});
    EXPECT_EQ(world.job(id).state, JobState::pending);
    const Outcome outcome =
        world.status("a", status_of({5}, {"stranger"}, {ended(1, 0)}, Left::no));
    EXPECT_TRUE(asks_for_plan(outcome));
    world.plan(id, {"a"});
    EXPECT_EQ(world.job(id).state, JobState::starting);
}

TEST(Fencing, ProcessesOfAnEndedAttemptAreStopped) {
    Pair world;
    world.run();
    world.report("a", ended(0, 0), Left::no);
    world.report("b", ended(1, 0), Left::no);
    world.apply(NodeSessionDown{{"a"}});
    const Outcome outcome =
        world.hello("a", 1, {status_of(world.epoch, world.id, {training(0)}, Left::yes)});
    EXPECT_EQ(commands<StopAttempt>(outcome).size(), 1u);
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
}

TEST(Nodes, BecomeUnreachableOnlyWithoutASession) {
    World world;
    world.hello("a", 1);
    world.apply(NodeUnreachable{{"a"}});
    EXPECT_EQ(world.state.nodes.at({"a"}).state, NodeState::ready);
    world.apply(NodeSessionDown{{"a"}});
    EXPECT_TRUE(overdue_nodes(world.state, world.now).empty());
    world.now.micros += 61'000'000;
    EXPECT_EQ(overdue_nodes(world.state, world.now), std::vector<NodeId>{{"a"}});
    world.apply(NodeUnreachable{{"a"}});
    EXPECT_EQ(world.state.nodes.at({"a"}).state, NodeState::unreachable);
    world.hello("a", 1);
    EXPECT_EQ(world.state.nodes.at({"a"}).state, NodeState::ready);
}

}  // namespace
}  // namespace rm::test
