#include "tests/controller/pair.h"

namespace rm::test {
namespace {

struct Publisher : Pair {
    Publisher() : Pair(retried_spec()) { run(); }
    Result<JobId> ask(Epoch asking) { return reply(apply(AskToPublish{asking}, 1)); }
    // The attempt falls silent and another one runs on nodes c and d.
    void replace() {
        session_down("a");
        session_down("b");
        wait({1801});
        wait({2});
        hello("c", 1);
        hello("d", 1);
        plan(id, {"c", "d"});
    }
};

TEST(Publish, TheAttemptThatLivesMay) {
    Publisher world;
    EXPECT_TRUE(world.ask(world.epoch));
    EXPECT_TRUE(world.attempt(world.id).may_publish);
    EXPECT_TRUE(world.ask(world.epoch)) << "asking twice is the same";
}

TEST(Publish, AnUnknownAttemptOrOneThatHasEndedMayNot) {
    Publisher world;
    EXPECT_EQ(world.ask({9}).error().message,
              "attempt 9 is not known here: it must not publish checkpoints");
    world.fail(1, "words");
    const auto refused = world.ask(world.epoch);
    EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
    EXPECT_EQ(refused.error().message,
              "attempt 1 has ended as failed: it must not publish checkpoints");
}

TEST(Publish, ALostAttemptMayNotThoughItStillRuns) {
    Publisher world;
    world.replace();
    EXPECT_FALSE(world.ask(world.epoch));
    EXPECT_TRUE(world.ask(world.epoch_of(world.id)));
}

TEST(Publish, TheNextAttemptWaitsForOneThatMayBePublishingStill) {
    Publisher world;
    ASSERT_TRUE(world.ask(world.epoch));
    world.replace();
    const Epoch next = world.epoch_of(world.id);
    EXPECT_EQ(world.ask(next).error().message,
              "attempt 2 has to wait for attempt 1, which may be publishing still until nodes a, "
              "b say that nothing is left");
    EXPECT_EQ(world.ask(next).error().code, ErrorCode::unavailable) << "it is worth asking again";
    world.hello("a", 1);
    EXPECT_FALSE(world.ask(next)) << "node b has not spoken";
    world.apply(NodeGone{{"b"}});
    EXPECT_TRUE(world.ask(next));
}

}  // namespace
}  // namespace rm::test
