#include <gmock/gmock.h>

#include "controller/core/step.h"
#include "tests/controller/pair.h"

namespace rm::test {
namespace {

// A valid state that a test breaks in one place; returns the complaint of the invariants.
struct Broken : Pair {
    Broken() : Pair(retried_spec()) { run(); }
    Job& the_job() { return state.jobs.at(id); }
    Attempt& the_attempt() { return state.attempts.at(epoch); }
    std::string complaint() const {
        try {
            check_invariants(state);
        } catch (const CheckError& error) {
            return error.what();
        }
        return "";
    }
    // Adds a second attempt of the same job beside the first, which no input does.
    void add_attempt(AttemptState attempt_state) {
        Attempt other = the_attempt();
        other.epoch = {state.next_epoch.value++};
        other.state = attempt_state;
        if (is_terminal(attempt_state)) other.ended = now;
        index_attempt(state, other, now);
        state.attempts[other.epoch] = other;
    }
};

TEST(Invariants, HoldAtFirst) {
    EXPECT_EQ(Broken().complaint(), "");
}
TEST(Invariants, APendingJobHasAReason) {
    Broken world;
    const JobId other = world.submit(small_spec());
    world.state.jobs.at(other).blocking_reasons.clear();
    EXPECT_THAT(world.complaint(), testing::HasSubstr("is pending with 0 blocking reasons"));
}
TEST(Invariants, APendingJobsReasonsHaveAnAge) {
    Broken world;
    world.state.reasoned.erase(world.submit(small_spec()));
    EXPECT_THAT(world.complaint(), testing::HasSubstr("the index of reasons disagrees"));
}
TEST(Invariants, AReasonIsNotOfAPassThatHasNotBegun) {
    Broken world;
    const JobId other = world.submit(small_spec());
    world.state.reasoned[other] = world.state.planning_version + 1;
    EXPECT_THAT(world.complaint(), testing::HasSubstr("from a pass that has not begun"));
}
TEST(Invariants, AJobIsWhatItsNewestAttemptMakesIt) {
    Broken world;
    world.the_job().state = JobState::stopping;
    EXPECT_THAT(world.complaint(), testing::HasSubstr("its attempt 1 is running"));
}
TEST(Invariants, OnlyTheNewestAttemptLives) {
    Broken world;
    world.add_attempt(AttemptState::running);
    EXPECT_THAT(world.complaint(), testing::HasSubstr("lives beside a newer one"));
}
TEST(Invariants, ADeviceIsInOneLiveAttempt) {
    Broken world;
    world.the_attempt().ranks[1].device = world.the_attempt().ranks[0].device;
    EXPECT_THAT(world.complaint(), testing::HasSubstr("device a:0 is in attempts 1 and 1"));
}
TEST(Invariants, NoTwoAttemptsOfAJobMayPublish) {
    Broken world;
    world.the_attempt().may_publish = true;
    world.apply(CommandsDue{});
    world.the_attempt().state = AttemptState::lost;
    world.the_attempt().ended = world.now;
    index_attempt(world.state, world.the_attempt(), world.now);
    world.the_attempt().may_publish = true;
    world.add_attempt(AttemptState::running);
    EXPECT_THAT(world.complaint(), testing::HasSubstr("may both publish"));
}
TEST(Invariants, AnEndedAttemptHasNothingLeftUnlessItIsLost) {
    Broken world;
    world.the_attempt().state = AttemptState::failed;
    world.the_attempt().ended = world.now;
    world.the_job().state = JobState::failed;
    world.the_job().ended = world.now;
    world.the_job().failure = "words";
    world.state.live_jobs.erase(world.id);
    EXPECT_THAT(world.complaint(), testing::HasSubstr("though something of it is left"));
}
TEST(Invariants, AnEndIsAnEnd) {
    Broken world;
    world.report("a", ended(0, 0), Left::no);
    world.report("b", ended(1, 0), Left::no);
    Step step(world.state, {.time = world.now, .body = CommandsDue{}, .steady = world.now});
    EXPECT_THROW(
        step.change_job(world.id, "job.ended", [](Job& job) { job.state = JobState::failed; }),
        CheckError);
    EXPECT_THROW(step.change_attempt(world.epoch, "attempt.ended",
                                     [](Attempt& attempt) { attempt.state = AttemptState::lost; }),
                 CheckError);
}

}  // namespace
}  // namespace rm::test
