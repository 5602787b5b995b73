#include "controller/core/jobs/make_snapshot.h"
#include "controller/core/jobs/retry.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

struct Retried : Pair {
    Retried() : Pair(retried_spec()) {}
};

TEST(Retry, AFailedAttemptGivesItsJobBackToTheQueueAndSaysWhatFailed) {
    Retried world;
    world.run();
    world.fail(1, "loss is not finite");
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::failed);
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::rank);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_EQ(
        world.reason(world.id),
        format("attempt 1 failed (rank): rank 1: loss is not finite; retry 1 of 3 comes at {}",
               to_iso8601(world.job(world.id).retry_at)));
}

TEST(Retry, ComesWhenItsTimeIsThereAndNotSooner) {
    Retried world;
    world.run();
    world.fail(1, "once");
    world.start();
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_NE(world.reason(world.id).find("the next attempt comes in"), std::string::npos);
    const Outcome due = world.wait({1.1});
    EXPECT_TRUE(asks_for_plan(due));
    EXPECT_EQ(world.job(world.id).retry_at.micros, 0);
    world.start();
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
    EXPECT_EQ(world.epoch, Epoch{2}) << "a retry is a new attempt";
}

TEST(Retry, ThePlannerLeavesTheReasonOfAJobThatBacksOff) {
    Retried world;
    world.run();
    world.fail(1, "once");
    const auto decisions = plan_jobs(planning_snapshot(world.state, world.now));
    const auto& reasons = std::get<Reasons>(decisions.at(0).decision);
    EXPECT_EQ(reasons, world.job(world.id).blocking_reasons);
}

TEST(Retry, BacksOffLongerEachTimeAndAMinuteAtMost) {
    EXPECT_EQ(retry_backoff(1), Seconds{1});
    EXPECT_EQ(retry_backoff(2), Seconds{2});
    EXPECT_EQ(retry_backoff(3), Seconds{4});
    EXPECT_EQ(retry_backoff(7), Seconds{60});
    EXPECT_EQ(retry_backoff(1000), Seconds{60});
}

TEST(Retry, EndsWithTheWordsOfTheLastAttemptWhenAllAreUsed) {
    Retried world;
    for (int attempt = 1; attempt <= 4; ++attempt) {
        ASSERT_EQ(world.job(world.id).state, JobState::starting) << attempt;
        world.run();
        world.fail(1, format("words {}", attempt));
        world.wait({61});
        if (attempt < 4) world.start();
    }
    EXPECT_EQ(world.job(world.id).state, JobState::failed);
    EXPECT_EQ(world.job(world.id).failure, "rank 1: words 4 (attempt 4)");
}

TEST(Retry, WhatWouldEndTheSameWayIsNotTriedAgain) {
    for (const int code : {kRankBadInput, kRankBadFiles, kRankOutOfMemory}) {
        Retried world;
        world.run();
        world.fail(code, "no room");
        EXPECT_EQ(world.job(world.id).state, JobState::failed);
        EXPECT_EQ(world.job(world.id).failure, "rank 1: no room");
    }
}

// The other node has room for the whole job.
TEST(Retry, OnlyFilesThatOneNodeFindsBadAreLookedForElsewhere) {
    for (const int code : {kRankBadInput, kRankBadFiles}) {
        World world;
        world.hello("here", 1);
        world.hello("there", 1);
        const JobId id = world.submit(retried_spec(3, ring(1)));
        world.plan(id, {"here"});
        world.status("here", status_of(world.epoch_of(id), id, {ended(0, code, "bad")}, Left::no));
        EXPECT_EQ(world.attempt(id).failure_class, FailureClass::bad_input);
        const bool again = code == kRankBadFiles;
        EXPECT_EQ(world.job(id).state, again ? JobState::pending : JobState::failed);
        EXPECT_EQ(world.job(id).excluded.size(), again ? 1u : 0u);
    }
}

TEST(Retry, AFaultyDeviceIsExcluded) {
    Retried world;
    world.run();
    world.fail(kRankDeviceFault, "illegal address");
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::device_fault);
    EXPECT_EQ(world.job(world.id).excluded, (std::vector<DeviceId>{{{"b"}, 0}}));
    world.wait({2});
    world.start();
    EXPECT_EQ(world.reason(world.id),
              "the plan is wrong: device b:0 is excluded: it failed under this job");
    world.hello("c", 1);
    const auto decisions = plan_jobs(planning_snapshot(world.state, world.now));
    EXPECT_EQ(std::get<Plan>(decisions.at(0).decision).placement,
              (std::vector<DeviceId>{{{"a"}, 0}, {{"c"}, 0}}));
}

TEST(Retry, AnExcludedDeviceIsNamedWhereItIsMissed) {
    Retried world;
    world.run();
    world.fail(kRankDeviceFault, "illegal address");
    JobSpec two = retried_spec(3, ring(2));
    PlanningSnapshot snapshot = planning_snapshot(world.state, world.now + Seconds{2});
    snapshot.pending.front().spec = two;
    const auto decisions = plan_jobs(snapshot);
    EXPECT_EQ(texts_of(decisions.at(0).decision).front(),
              "needs 2 cpu devices, 1 is free of 2 (1 excluded after faults); add 1 cpu device or "
              "ask for at most 1");
}

TEST(Retry, TheFirstFailureDecidesTheClass) {
    Retried world;
    world.run();
    world.report("a", ended(0, 1, "first"));
    world.report("b", ended(1, kRankOutOfMemory, "second"), Left::no);
    world.report("a", ended(0, 1, "first"), Left::no);
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::rank);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
}

TEST(Retry, ALostPeerLeavesTheClassToTheRankThatDied) {
    Retried world;
    world.run();
    world.report("a", ended(0, kRankLostPeer, "lost peer rank 1"));
    world.report("b", ended(1, kRankOutOfMemory, "out of memory"), Left::no);
    world.report("a", ended(0, kRankLostPeer, "lost peer rank 1"), Left::no);
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::out_of_memory);
    EXPECT_EQ(world.job(world.id).failure, "rank 1: out of memory");
}

TEST(Retry, AWorkerThatCouldNotStartItsRanksIsAskedAgain) {
    Retried world;
    AttemptStatus status = status_of(world.epoch, world.id, {}, Left::no);
    status.launch_error = "no space left";
    world.status("a", status);
    world.report("b", ended(1, kRankStopped), Left::no);
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::launch);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
}

TEST(Retry, ACancelWhileItFailsIsTheLastWord) {
    Retried world;
    world.run();
    world.report("b", ended(1, 1, "words"), Left::no);
    world.apply(CancelJob{world.id});
    world.report("a", ended(0, kRankLostPeer, "lost"), Left::no);
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::failed);
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
}

TEST(Retry, ACancelWhileItBacksOffEndsTheJob) {
    Retried world;
    world.run();
    world.fail(1, "words");
    world.apply(CancelJob{world.id});
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
    EXPECT_FALSE(asks_for_plan(world.wait({2})));
}

TEST(Retry, ReasonsOfAPassThatBeganBeforeTheFailureChangeNothing) {
    Retried world;
    const std::uint64_t before = world.state.planning_version;
    world.run();
    world.fail(1, "words");
    const std::string reason = world.reason(world.id);
    world.apply(PlanReady{world.id, before, Reasons{{"too few devices"}}});
    EXPECT_EQ(world.reason(world.id), reason);
}

RankStatus killed(int rank) {
    RankStatus status = ended(rank, 0);
    status.exit_signal = 9;
    return status;
}

// Its rank may hang in the driver, so that no exit ever tells of it.
TEST(Retry, ALostDeviceEndsItsAttemptAndIsKeptFromTheJob) {
    Retried world;
    world.run();
    const std::string why = "lost: it answers no more; restart the machine";
    world.apply(NodeDevices{{"b"}, {{{.index = 0, .unfit = why, .lost = true}}}});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::stopping);
    EXPECT_EQ(world.attempt(world.id).failure_class, FailureClass::device_fault);
    EXPECT_EQ(world.attempt(world.id).cause, "rank 1: its device b:0 is lost: " + why);
    world.apply(NodeDevices{{"b"}, {{{.index = 0, .unfit = why, .lost = true}}}});
    world.report("b", killed(1), Left::no);
    world.report("a", ended(0, kRankLostPeer, "lost peer rank 1"), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::pending) << "it is tried again";
    EXPECT_EQ(world.job(world.id).excluded, (std::vector<DeviceId>{{{"b"}, 0}}));
}

TEST(Retry, AnUnfitDeviceThatStillAnswersEndsNoAttempt) {
    Retried world;
    world.run();
    world.apply(NodeDevices{{"b"}, {{{.index = 0, .unfit = "a row remap is pending; reset it"}}}});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::running);
}

}  // namespace
}  // namespace rm::test
