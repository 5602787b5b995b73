#include <limits>

#include "base/ids.h"
#include "tests/controller/world.h"

// One hello with the highest possible epoch ended a cluster for good: the next epoch overflowed,
// was stored, and every launch was refused from then on. Each of several hellos could still raise
// it by 2^40: after enough of them, honest workers took their own identity for damaged.
namespace rm::test {
namespace {

TEST(Regress0026, AnEpochThatNoControllerGaveOutIsRefused) {
    World world;
    const Epoch next = world.state.next_epoch;
    const auto say = [&](std::int64_t epoch) {
        Hello hello = hello_of("old", 1);
        hello.highest_epoch = {epoch};
        return reply(world.apply(NodeHello{hello}, 1));
    };
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t absurd : {kMost, std::int64_t{1} << 41, std::int64_t{-1}}) {
        const Result<JobId> refused = say(absurd);
        ASSERT_FALSE(refused) << absurd;
        EXPECT_NE(refused.error().message.find("worker old"), std::string::npos);
    }
    EXPECT_EQ(world.state.next_epoch, next);
    EXPECT_TRUE(world.state.nodes.empty());
    EXPECT_TRUE(say(1'800'000'000)) << "a restored controller counts from the time";
    EXPECT_EQ(world.state.next_epoch, Epoch{1'800'000'001});
}

class Raised : public ::testing::Test {
protected:
    bool is_believed(const std::string& node, Epoch highest) {
        Hello hello = hello_of(node, 1);
        hello.highest_epoch = highest;
        return reply(world.apply(NodeHello{hello}, 1)).ok();
    }
    // Halves the step until the controller does not believe even the next epoch.
    void raise_as_far_as_possible() {
        for (int bit = 61; bit >= 0; --bit)
            is_believed("rogue", {world.state.next_epoch.value + (std::int64_t{1} << bit)});
        is_believed("rogue", world.state.next_epoch);
    }
    Epoch launch_on(const std::string& node) {
        world.hello(node, 1);
        const JobId job = world.submit(small_spec());
        world.plan(job, {node});
        return world.epoch_of(job);
    }

    World world;
};

TEST_F(Raised, NoSequenceOfHellosUsesUpTheEpochs) {
    world.now = {1'800'000'000'000'000};
    const State before = world.state;
    raise_as_far_as_possible();
    EXPECT_FALSE(is_believed("rogue", world.state.next_epoch)) << "a further one raises nothing";
    const Epoch launched = launch_on("honest");
    EXPECT_LT(launched, kHighestEpoch);
    EXPECT_TRUE(is_believed("honest", launched)) << "it is one of this controller";
    world.restore(before);
    world.now = world.now + Seconds{1};
    EXPECT_TRUE(is_believed("honest", launched)) << "tables of before know less than its worker";
}

TEST_F(Raised, AClockOfWhateverYearLeavesEpochsToAttempts) {
    for (const std::int64_t micros : {std::int64_t{0}, std::int64_t{1} << 62}) {
        world.now = {micros};
        raise_as_far_as_possible();
        EXPECT_LT(world.state.next_epoch.value, kHighestEpoch.value / 4 * 3) << micros;
    }
}

}  // namespace
}  // namespace rm::test
