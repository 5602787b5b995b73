#include "tests/controller/pair.h"

// A clock that was set back after a restore gave what happened afterwards times from before it. A
// job that its user had cancelled since counted as ended in the backup, and a worker's hello
// revived it (simulation: scenario everything, seed 5026). A node that had spoken since was
// believed once more after the controller's next start.
namespace rm::test {
namespace {

constexpr Seconds kSetBack{-3600};

// The backup has a queued job; since it was made the job was started on node a.
struct PutBack : World {
    State backup;
    JobId id;
    LaunchAttempt launch;

    PutBack() {
        hello("a", 1);
        id = submit(small_spec(ring(1)));
        backup = state;
        launch = commands<LaunchAttempt>(plan(id, {"a"})).at(0);
    }
    void speak() {
        Hello hello = hello_of("a", 1, {status_of(launch.epoch, id, {training(0)}, Left::yes)});
        hello.launches = {launch};
        apply(NodeHello{hello});
    }
};

TEST(Regress0133, AJobThatEndedAfterTheRestoreIsNotRevived) {
    PutBack world;
    world.restore(world.backup);
    world.clock_error = kSetBack;
    world.apply(CancelJob{.job = world.id});
    ASSERT_EQ(world.job(world.id).state, JobState::cancelled);
    world.speak();
    EXPECT_EQ(world.job(world.id).state, JobState::cancelled);
}

TEST(Regress0133, AJobThatHadEndedInTheBackupIsRevivedWhateverTheClockSays) {
    PutBack world;
    world.state = world.backup;
    world.apply(CancelJob{.job = world.id});
    world.backup = world.state;
    world.clock_error = kSetBack;
    world.restore(world.backup);
    world.speak();
    EXPECT_EQ(world.job(world.id).state, JobState::running);
}

TEST(Regress0133, ANodeThatHasSpokenSinceTheRestoreIsNotAskedAgain) {
    PutBack world;
    world.restore(world.backup);
    world.clock_error = kSetBack;
    world.hello("a", 1);
    rebuild_indexes(world.state, world.now + world.clock_error);
    EXPECT_FALSE(world.state.unheard.contains({"a"}));
}

}  // namespace
}  // namespace rm::test
