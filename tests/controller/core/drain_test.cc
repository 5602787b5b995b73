#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

struct Drained : Pair {
    Drained() : Pair(retried_spec(0)) {
        run();
        drain("a");
    }
    Outcome drain(const std::string& node) { return apply(DrainNode{{node}, "kernel upgrade"}, 1); }
    void stop() {
        report("a", ended(0, kRankStopped), Left::no);
        report("b", ended(1, kRankStopped), Left::no);
    }
};

TEST(Drain, StopsWhatRunsThereWithACheckpoint) {
    Pair world;
    world.run();
    const Outcome outcome = world.apply(DrainNode{{"a"}, "kernel upgrade"}, 1);
    EXPECT_TRUE(reply(outcome));
    const auto stops = commands<StopAttempt>(outcome);
    ASSERT_EQ(stops.size(), 2u);
    EXPECT_EQ(stops[0].mode, StopMode::graceful);
    EXPECT_EQ(world.attempt(world.id).stop_reason, StopReason::drain);
}

TEST(Drain, GivesTheJobBackToTheQueueWithoutCountingARetry) {
    Drained world;
    world.stop();
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::cancelled);
    EXPECT_EQ(world.attempt(world.id).cause, "node a is drained: kernel upgrade");
    EXPECT_EQ(world.job(world.id).state, JobState::pending) << "though retry.max is 0";
    EXPECT_EQ(world.reason(world.id),
              "attempt 1 was stopped: node a is drained: kernel upgrade; waits for a scheduling "
              "pass");
    EXPECT_EQ(world.job(world.id).retry_at.micros, 0);
}

TEST(Drain, LeavesWhatRunsThereWhenToldSo) {
    Pair world;
    world.run();
    const Outcome outcome = world.apply(DrainNode{{"a"}, "", true}, 1);
    EXPECT_TRUE(commands<StopAttempt>(outcome).empty());
    EXPECT_EQ(world.state.nodes.at({"a"}).drained, "by an admin");
    EXPECT_EQ(world.job(world.id).state, JobState::running);
}

TEST(Drain, NothingNewIsPlacedThereUntilItIsResumed) {
    Drained world;
    world.stop();
    world.start();
    EXPECT_EQ(world.reason(world.id), "the plan is wrong: node a is drained: kernel upgrade");
    const auto decisions = plan_jobs(planning_snapshot(world.state, world.now));
    EXPECT_EQ(std::get<Plan>(decisions.at(0).decision).placement,
              (std::vector<DeviceId>{{{"b"}, 0}}));
    EXPECT_TRUE(asks_for_plan(world.apply(ResumeNode{{"a"}}, 1)));
    world.start();
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
}

TEST(Drain, AHelloDoesNotTakeTheNodeBackIntoService) {
    Drained world;
    world.stop();
    world.session_down("a");
    world.hello("a", 1);
    EXPECT_EQ(world.state.nodes.at({"a"}).drained, "kernel upgrade");
    world.start();
    EXPECT_EQ(world.reason(world.id), "the plan is wrong: node a is drained: kernel upgrade");
}

TEST(Drain, IsNoFailureThatRetriesAreCountedBy) {
    Pair world(retried_spec(1));
    for (int drained = 0; drained < 2; ++drained) {
        world.run();
        world.apply(DrainNode{{"a"}, "kernel upgrade"}, 1);
        // Its checkpoint fails.
        world.report("b", ended(1, 1, "disk full"), Left::no);
        world.report("a", ended(0, kRankLostPeer, "lost"), Left::no);
        world.apply(ResumeNode{{"a"}}, 1);
        world.start();
    }
    world.run();
    world.fail(1, "words");
    EXPECT_EQ(world.job(world.id).state, JobState::pending) << world.job(world.id).failure;
}

TEST(Drain, IsWhatAJobThatMissesTheNodeIsToldToUndo) {
    Drained world;
    world.stop();
    PlanningSnapshot snapshot = planning_snapshot(world.state, world.now);
    snapshot.pending.front().spec.parallel = ring(2);
    const auto decisions = plan_jobs(snapshot);
    EXPECT_EQ(texts_of(decisions.at(0).decision).front(),
              "needs 2 cpu devices, 1 is free of 2 (1 on drained nodes); resume nodes with 1 cpu "
              "device or ask for at most 1");
}

TEST(Drain, OfAnAttemptThatFinishesMeanwhileIsASuccess) {
    Drained world;
    world.report("a", ended(0, 0), Left::no);
    world.report("b", ended(1, 0), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
}

TEST(Drain, ACheckpointThatFailsIsNotedAndTheJobGoesOn) {
    Drained world;
    world.report("a", ended(0, 1, "disk full"), Left::no);
    world.report("b", ended(1, kRankLostPeer, "lost"), Left::no);
    EXPECT_EQ(world.attempt(world.id).cause,
              "node a is drained: kernel upgrade; while stopping, rank 0: disk full");
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
}

TEST(Drain, ACancelMeanwhileIsTheLastWord) {
    Drained world;
    world.apply(CancelJob{world.id});
    world.stop();
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::cancelled);
}

TEST(Drain, LeavesAnAttemptThatFailsToItsFailure) {
    Pair world;
    world.run();
    world.report("b", ended(1, 1, "words"), Left::no);
    world.apply(DrainNode{{"a"}});
    world.report("a", ended(0, kRankLostPeer, "lost"), Left::no);
    EXPECT_EQ(world.job(world.id).failure, "rank 1: words");
}

TEST(Drain, OfANodeThatDoesNotExistIsRefused) {
    World world;
    EXPECT_EQ(reply(world.apply(DrainNode{{"x"}}, 1)).error().code, ErrorCode::not_found);
    EXPECT_EQ(reply(world.apply(ResumeNode{{"x"}}, 1)).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace rm::test
