#include "controller/core/jobs/make_snapshot.h"
#include "planner/plan_jobs.h"
#include "tests/controller/pair.h"

// Wall times were compared as steady ones: since when a job waits, when its retry comes, and the
// moment of a restore. With a clock that had been set, a job was overdue at its submission or not
// for hours, planning was held as long, and a node that had spoken since a restore was believed
// once more.
namespace rm::test {
namespace {

constexpr Seconds kTwoHours{7200};

// Node b is free, and a job waits for both nodes.
struct Waiting : World {
    JobId wide;
    JobId narrow;
    explicit Waiting(Seconds error) {
        hello("a", 1);
        hello("b", 1);
        plan(submit(small_spec(ring(1))), {"a"});
        clock_error = error;
        wide = submit(small_spec(ring(2)));
        narrow = submit(small_spec(ring(1)));
    }
    bool narrow_starts() const {
        for (const PlanDecision& decision : plan_jobs(planning_snapshot(state, now))) {
            if (decision.job == narrow) return std::holds_alternative<Plan>(decision.decision);
        }
        return false;
    }
};

TEST(Regress0103, AJobWaitsAsLongAsTimeHasPassed) {
    for (const Seconds error : {kTwoHours, Seconds{-kTwoHours.value}}) {
        Waiting world(error);
        EXPECT_TRUE(world.narrow_starts()) << error.value;
        world.now = world.now + kMaxBypass + Seconds{1};
        EXPECT_FALSE(world.narrow_starts()) << error.value;
    }
}

TEST(Regress0103, AfterAStartWithTheClockSetBackNoJobWaitsSinceLater) {
    Waiting world(Seconds{});
    world.now = world.now + Seconds{-kTwoHours.value};
    rebuild_indexes(world.state, world.now);
    EXPECT_EQ(planning_snapshot(world.state, world.now).pending.at(0).waiting_since, world.now);
}

TEST(Regress0103, TheWaitThatIsToldIsOfTheSameTime) {
    World world;
    world.hello("a", 1);
    const JobId id = world.submit(small_spec(ring(1)));
    world.clock_error = kTwoHours;
    const Outcome started = world.plan(id, {"a"});
    ASSERT_EQ(started.transitions.size(), 1u);
    EXPECT_LT(started.transitions[0].waited, Seconds{1});
}

TEST(Regress0103, ARetryIsAnnouncedInTheTimeOfTheClock) {
    Pair world(retried_spec());
    world.clock_error = kTwoHours;
    world.run();
    world.fail(1, "words");
    const WallTime comes = world.now + world.clock_error + Seconds{1};
    EXPECT_NE(world.reason(world.id).find("comes at " + to_iso8601(comes)), std::string::npos)
        << world.reason(world.id);
}

// A node that the backup knows reports an attempt that was never commanded.
struct Restored0103 : World {
    explicit Restored0103(Seconds error) {
        hello("a", 1);
        const State backup = state;
        clock_error = error;
        restore(backup);
    }
    void claim(const std::string& job) {
        Hello hello = hello_of("a", 1, {status_of({100}, {job}, {training(0)}, Left::yes)});
        hello.launches = {{.epoch = {100},
                           .job = {job},
                           .spec = small_spec(),
                           .plan = {.mesh = ring(1)},
                           .ranks = {{0, 0}}}};
        apply(NodeHello{hello});
    }
};

TEST(Regress0103, PlanningIsHeldForAMinuteWhateverTheClockSays) {
    for (const Seconds error : {kTwoHours, Seconds{-kTwoHours.value}}) {
        Restored0103 world(error);
        EXPECT_FALSE(hold_reason(world.state, world.now).empty()) << error.value;
        world.wait(kRestoreHold);
        EXPECT_TRUE(hold_reason(world.state, world.now).empty()) << error.value;
    }
}

TEST(Regress0103, ANodeIsBelievedOnceThoughTheClockIsSetBack) {
    Restored0103 world(Seconds{});
    world.hello("a", 1);
    world.clock_error = Seconds{-kTwoHours.value};
    world.session_down("a");
    world.claim("abc123");
    EXPECT_TRUE(world.state.jobs.empty());
}

TEST(Regress0103, ANodeIsBelievedThoughItsLastWordInTheBackupLiesAhead) {
    Restored0103 world(Seconds{-kTwoHours.value});
    world.claim("abc123");
    EXPECT_TRUE(world.state.jobs.contains({"abc123"}));
}

}  // namespace
}  // namespace rm::test
