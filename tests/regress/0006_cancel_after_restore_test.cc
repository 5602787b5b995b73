#include "tests/controller/world.h"

// A job that was cancelled after a restore ran again as soon as a worker reported an attempt of it.
// Found by the simulation, scenario everything, seed 97.
namespace rm::test {
namespace {

TEST(Regress0006, ACancelAfterARestoreIsTheLastWord) {
    World world;
    const JobId job = world.submit(small_spec(ring(1)));
    world.apply(Restored{});
    world.apply(CancelJob{job});
    Hello hello = hello_of("n1", 1, {status_of({7}, job, {training(0)}, Left::yes)});
    LaunchAttempt launch{.epoch = {7}, .job = job, .spec = world.job(job).spec, .ranks = {{0, 0}}};
    launch.plan.mesh = ring(1);
    hello.launches.push_back(launch);
    const Outcome outcome = world.apply(NodeHello{hello});
    EXPECT_EQ(world.job(job).state, JobState::cancelled);
    EXPECT_EQ(commands<StopAttempt>(outcome).size(), 1U) << "what runs is told to stop";
}

}  // namespace
}  // namespace rm::test
