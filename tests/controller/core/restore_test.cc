#include "controller/core/due.h"
#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

// A job of two ranks runs; `empty` is the backup from before it was submitted and `queued` the one
// from before it was planned.
struct Backup : World {
    State empty;
    State queued;
    JobId id;
    Epoch epoch;
    std::map<std::string, LaunchAttempt> launches;

    Backup() {
        hello("a", 1);
        hello("b", 1);
        empty = state;
        const Outcome submitted = apply(SubmitJob{{"r"}, retried_spec(), "the yaml", 1, "ada"}, 1);
        id = reply(submitted).value();
        queued = state;
        start();
    }
    // Launches the next attempt and keeps what the workers were told.
    void start() {
        for (const LaunchAttempt& launch : commands<LaunchAttempt>(plan(id, {"a", "b"})))
            launches[launch.ranks.front().rank == 0 ? "a" : "b"] = launch;
        epoch = epoch_of(id);
    }
    AttemptStatus status_here(const std::string& node, RankStatus rank, Left left = Left::yes) {
        const int number = node == "a" ? 0 : 1;
        rank.rank = number;
        return status_of(launches.at(node).epoch, id, {rank}, left);
    }
    Hello hello_with(const std::string& node, RankStatus rank, Left left = Left::yes) {
        Hello hello = hello_of(node, 1, {status_here(node, rank, left)});
        hello.launches = {launches.at(node)};
        hello.highest_epoch = launches.at(node).epoch;
        return hello;
    }
    void adopt() {
        apply(NodeHello{hello_with("a", training(0))});
        apply(NodeHello{hello_with("b", training(1))});
    }
};

TEST(Restore, JumpsOverEveryEpochGivenSinceTheBackup) {
    Backup world;
    world.restore(world.queued);
    EXPECT_EQ(world.state.next_epoch.value, 1 + kRestoreEpochJump);
    Hello far = hello_of("a", 1);
    far.highest_epoch = {kRestoreEpochJump + 500};
    world.apply(NodeHello{far});
    EXPECT_EQ(world.state.next_epoch.value, kRestoreEpochJump + 501) << "hellos still count";
}

TEST(Restore, NothingIsPlannedUntilEveryNodeHasSpoken) {
    Backup world;
    world.restore(world.queued);
    world.hello("a", 1);
    const auto decisions = plan_jobs(planning_snapshot(world.state, world.now));
    const std::string reason = texts_of(decisions.at(0).decision).front();
    EXPECT_NE(reason.find("restored from a backup; waits until nodes b have said"),
              std::string::npos)
        << reason;
    world.plan(world.id, {"a"});
    EXPECT_EQ(world.job(world.id).state, JobState::pending) << "a plan made in spite of it";
    EXPECT_TRUE(asks_for_plan(world.hello("b", 1)));
    world.plan(world.id, {"a"});
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
}

TEST(Restore, WaitsForAMinuteAndNotForNodesThatAreGone) {
    Backup world;
    world.restore(world.queued);
    EXPECT_FALSE(due_times(world.state, world.now + Seconds{59}).hold_changed);
    EXPECT_TRUE(asks_for_plan(world.wait({61})));
    world.restore(world.queued);
    world.hello("a", 1);
    world.apply(NodeGone{{"b"}});
    EXPECT_TRUE(hold_reason(world.state, world.now).empty());
    world.plan(world.id, {"a"});
    EXPECT_EQ(world.job(world.id).state, JobState::starting);
}

TEST(Restore, AnUnknownAttemptOfAnUnknownJobIsTakenOver) {
    Backup world;
    world.restore(world.empty);
    world.apply(NodeHello{world.hello_with("a", training(0))});
    ASSERT_NE(find_job(world.state, world.id), nullptr);
    const Job& job = world.job(world.id);
    EXPECT_TRUE(job.recovered);
    EXPECT_EQ(job.yaml, "the yaml");
    EXPECT_EQ(job.owner, "ada");
    EXPECT_EQ(job.spec, retried_spec());
    EXPECT_EQ(job.state, JobState::starting) << "node b has not spoken";
    EXPECT_TRUE(world.attempt(world.id).ranks[1].device.node.empty());
    const Outcome outcome = world.apply(NodeHello{world.hello_with("b", training(1))});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    EXPECT_EQ(world.attempt(world.id).ranks[1].device, (DeviceId{{"b"}, 0}));
    EXPECT_TRUE(outcome.effects.empty()) << "nothing is commanded";
}

TEST(Restore, WhatWasTakenOverEndsNormally) {
    Backup world;
    world.restore(world.empty);
    world.adopt();
    world.status("a", world.status_here("a", ended(0, 0), Left::no));
    const Outcome outcome = world.status("b", world.status_here("b", ended(1, 0), Left::no));
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
    EXPECT_EQ(commands<ForgetAttempt>(outcome).size(), 2u);
}

TEST(Restore, WhatWasTakenOverCanBeCancelledAndFail) {
    Backup world;
    world.restore(world.empty);
    world.adopt();
    EXPECT_EQ(commands<StopAttempt>(world.apply(CancelJob{world.id})).size(), 2u);
    world.restore(world.empty);
    world.adopt();
    world.status("b", world.status_here("b", ended(1, 1, "words"), Left::no));
    world.status("a", world.status_here("a", ended(0, kRankLostPeer), Left::no));
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    EXPECT_NE(world.reason(world.id).find("rank 1: words"), std::string::npos);
}

TEST(Restore, AQueuedJobThatRunsIsNotPlannedAgain) {
    Backup world;
    world.restore(world.queued);
    world.adopt();
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    EXPECT_EQ(world.epoch_of(world.id), world.epoch);
    EXPECT_TRUE(world.job(world.id).recovered);
}

TEST(Restore, AnAttemptOfTheTablesYieldsToTheOneThatReplacedIt) {
    Backup world;
    const State first = world.state;
    world.status("b", world.status_here("b", ended(1, 1, "words"), Left::no));
    world.status("a", world.status_here("a", ended(0, kRankLostPeer), Left::no));
    world.wait({2});
    world.start();
    world.restore(first);
    world.adopt();
    EXPECT_EQ(world.attempt(world.id).epoch, Epoch{2});
    EXPECT_EQ(world.job(world.id).state, JobState::running);
    const Attempt& replaced = world.state.attempts.at({1});
    EXPECT_EQ(replaced.state, AttemptState::lost);
    EXPECT_EQ(replaced.cause, "replaced by attempt 2");
    EXPECT_TRUE(world.state.leftover.empty()) << "both workers know nothing of it";
}

TEST(Restore, DevicesThatChangedHandsSinceBelongToTheHigherEpoch) {
    Backup world;
    const State first = world.state;
    world.apply(CancelJob{world.id, StopMode::now});
    world.status("a", world.status_here("a", ended(0, kRankStopped), Left::no));
    world.status("b", world.status_here("b", ended(1, kRankStopped), Left::no));
    const JobId other = world.submit(retried_spec());
    const auto launches = commands<LaunchAttempt>(world.plan(other, {"a"}));
    world.restore(first);
    Hello hello = hello_of("a", 1, {status_of({2}, other, {training(0)}, Left::yes)});
    hello.launches = launches;
    world.apply(NodeHello{hello});
    EXPECT_EQ(world.job(other).state, JobState::running);
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
}

TEST(Restore, AJobThatWasCancelledSinceIsNotReopenedByAnAttemptThatRuns) {
    Backup world;
    world.restore(world.empty);
    world.apply(NodeHello{world.hello_with("a", training(0))});
    world.session_down("a");
    world.apply(CancelJob{world.id});
    world.wait({1801});
    ASSERT_EQ(world.job(world.id).state, JobState::cancelled);
    // A later attempt, which the cancel in this history has never reached.
    world.launches["b"].epoch = {2};
    world.apply(NodeHello{world.hello_with("b", training(1))});
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
}

// This controller did not command it: it may be another user's work.
TEST(Restore, WithoutARestoreAnUnknownAttemptIsLeftAlone) {
    Backup world;
    world.apply(CancelJob{world.id, StopMode::now});
    world.status("a", world.status_here("a", ended(0, kRankStopped), Left::no));
    world.status("b", world.status_here("b", ended(1, kRankStopped), Left::no));
    world.session_down("b");
    world.launches["b"].epoch = {2};
    const Outcome outcome = world.apply(NodeHello{world.hello_with("b", training(1))});
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
    EXPECT_EQ(commands<StopAttempt>(outcome).size(), 0u);
    EXPECT_EQ(world.state.attempts.size(), 1u);
    EXPECT_EQ(device_holders(world.state).at({{"b"}, 0}).epoch, Epoch{2}) << "but not forgotten";
    world.status("b", world.status_here("b", ended(1, 3), Left::no));
    EXPECT_TRUE(device_holders(world.state).empty());
}

TEST(Restore, WhatEndedMeanwhileIsListedWithItsEnd) {
    Backup world;
    world.restore(world.empty);
    world.apply(NodeHello{world.hello_with("a", ended(0, 0), Left::no)});
    world.apply(NodeHello{world.hello_with("b", ended(1, 0), Left::no)});
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
    EXPECT_TRUE(device_holders(world.state).empty());
}

TEST(Restore, WhatWasStoppedMeanwhileIsNotStartedAgain) {
    Backup world;
    world.restore(world.empty);
    world.apply(NodeHello{world.hello_with("a", ended(0, kRankStopped), Left::no)});
    world.apply(NodeHello{world.hello_with("b", ended(1, kRankStopped), Left::no)});
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
    EXPECT_EQ(world.attempt(world.id).cause, "stopped before the restore");
}

TEST(Restore, AnAttemptWhoseLaunchIsNotToldIsLeftAlone) {
    Backup world;
    world.restore(world.empty);
    const Outcome outcome =
        world.hello("a", 1, {status_of({1}, world.id, {training(0)}, Left::yes)});
    EXPECT_TRUE(outcome.effects.empty());
    EXPECT_EQ(find_job(world.state, world.id), nullptr);
    EXPECT_TRUE(device_holders(world.state).contains({{"a"}, 0}));
}

TEST(Restore, ALaunchThatMakesNoSenseIsLeftAlone) {
    Backup world;
    world.restore(world.empty);
    Hello hello = world.hello_with("a", training(0));
    hello.launches.front().ranks = {{7, 0}};
    world.apply(NodeHello{hello});
    EXPECT_EQ(find_job(world.state, world.id), nullptr);
}

TEST(Restore, RanksOfWhichNobodySpeaksEndWithTheAttempt) {
    Backup world;
    world.restore(world.empty);
    world.apply(NodeHello{world.hello_with("a", training(0))});
    world.status("a", world.status_here("a", ended(0, kRankLostPeer, "lost rank 1"), Left::no));
    EXPECT_EQ(world.job(world.id).state, JobState::stopping) << "rank 1 may be anywhere";
    world.wait({1801});
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::lost);
    EXPECT_EQ(world.job(world.id).state, JobState::pending);
    const Outcome found = world.apply(NodeHello{world.hello_with("b", training(1))});
    EXPECT_EQ(commands<StopAttempt>(found).size(), 1u);
    EXPECT_EQ(world.state.leftover.size(), 1u);
}

}  // namespace
}  // namespace rm::test
