// Every return to the queue counted as a wait since the job was first submitted: an hour of
// training before a drain was an hour in the queue.
#include "tests/controller/world.h"

namespace rm::test {
namespace {

// The wait that the transition from the queue to the devices reports.
double waited(const Outcome& outcome) {
    for (const Transition& transition : outcome.transitions) {
        if (transition.from == JobState::pending && transition.to == JobState::starting) {
            return transition.waited.value;
        }
    }
    ADD_FAILURE() << "nothing has started";
    return -1;
}

TEST(Regress0085, AReturnToTheQueueIsWaitedForFromTheEndOfTheAttempt) {
    constexpr double tick = 0.01;  // inputs of the world are a millisecond apart
    World world;
    const JobId id = world.submit(small_spec(ring(1)));
    world.wait(Seconds{5});
    world.hello("a", 1);
    EXPECT_NEAR(waited(world.plan(id, {"a"})), 5, tick);
    for (const double pause : {30.0, 2.0}) {
        const Epoch epoch = world.epoch_of(id);
        world.status("a", status_of(epoch, id, {training(0)}, Left::yes));
        world.wait(Seconds{600});
        world.apply(DrainNode{{"a"}, "kernel upgrade"}, 1);
        world.status("a", status_of(epoch, id, {ended(0, kRankStopped)}, Left::no));
        ASSERT_EQ(world.job(id).state, JobState::pending);
        world.wait(Seconds{pause});
        world.apply(ResumeNode{{"a"}}, 1);
        EXPECT_NEAR(waited(world.plan(id, {"a"})), pause, tick);
    }
}

}  // namespace
}  // namespace rm::test
