#include "controller/core/input.h"
#include "tests/controller/world.h"

// A worker's hello could submit jobs: an attempt that was never commanded became a job of any
// owner, and when it failed an honest node trained it. Its id, any text, became part of paths.
namespace rm::test {
namespace {

Hello rogue(const std::string& job) {
    const AttemptStatus runs = status_of({100}, {job}, {training(0)}, Left::yes);
    Hello hello = hello_of("rogue", 1, {runs});
    hello.launches = {{.epoch = {100},
                       .job = {job},
                       .spec = small_spec(),
                       .plan = {.mesh = ring(1)},
                       .ranks = {{0, 0}},
                       .owner = "carol"}};
    return hello;
}

TEST(Regress0025, AHelloSubmitsNothing) {
    World world;
    world.hello("honest", 1);
    world.apply(NodeHello{rogue("abc123")});
    world.status("rogue", status_of({100}, {"abc123"}, {ended(0, 1, "boom")}, Left::no));
    EXPECT_TRUE(world.state.jobs.empty());
    EXPECT_TRUE(world.state.attempts.empty());
}

TEST(Regress0025, AfterARestoreANodeThatTheBackupKnowsIsAskedOnce) {
    World world;
    world.hello("rogue", 1);
    const State backup = world.state;
    world.now = world.now + Seconds{600};
    world.restore(backup);
    world.now = world.now + Seconds{7200};
    world.apply(NodeHello{rogue("abc123")});
    EXPECT_TRUE(world.state.jobs.contains({"abc123"})) << "late, but its first word";
    world.session_down("rogue");
    Hello again = rogue("abc124");
    again.launches[0].epoch = again.attempts[0].epoch = {200};
    world.apply(NodeHello{again});
    EXPECT_FALSE(world.state.jobs.contains({"abc124"}));
}

TEST(Regress0025, AfterARestoreAnUnknownNodeIsBelievedWhilePlanningIsHeldOnly) {
    World world;
    const State backup = world.state;
    world.restore(backup);
    world.now = world.now + kRestoreHold;
    world.apply(NodeHello{rogue("abc123")});
    EXPECT_TRUE(world.state.jobs.empty());
}

TEST(Regress0025, AJobsIdIsNoPath) {
    for (const char* id : {"../../../x", "abc12", "abc1234", "Abc123", "1bc123", "abc/12", ""}) {
        const Status refused = check_hello(rogue(id), {"cluster-1"});
        ASSERT_FALSE(refused) << id;
        EXPECT_NE(refused.error().message.find("worker rogue"), std::string::npos);
    }
    EXPECT_TRUE(check_hello(rogue("abc123"), {"cluster-1"}));
}

}  // namespace
}  // namespace rm::test
