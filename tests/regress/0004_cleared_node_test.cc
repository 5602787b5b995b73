#include "tests/controller/world.h"

// A worker with nothing left of an attempt kept reporting it, so the attempt was never lost
// although its other worker had long been silent. Found by the simulation, scenario everything,
// seed 27.
namespace rm::test {
namespace {

TEST(Regress0004, AClearedNodeDoesNotKeepASilentAttemptAlive) {
    World world;
    world.hello("n1", 1);
    world.hello("n2", 1);
    JobSpec spec = small_spec(ring(2));
    spec.retry.lost_after = Seconds{100};
    const JobId job = world.submit(spec);
    world.plan(job, {"n1", "n2"});
    const Epoch epoch = world.epoch_of(job);
    world.status("n1", status_of(epoch, job, {training(0)}, Left::yes));
    world.status("n2", status_of(epoch, job, {training(1)}, Left::yes));
    world.apply(NodeSessionDown{{"n1"}});
    for (int i = 0; i < 12; ++i) {
        world.now.micros += 10'000'000;
        world.status("n2", status_of(epoch, job, {ended(1, kRankLostPeer)}, Left::no));
    }
    world.apply(CommandsDue{});
    EXPECT_EQ(world.state.attempts.at(epoch).state, AttemptState::lost);
}

}  // namespace
}  // namespace rm::test
