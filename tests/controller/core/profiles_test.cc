#include "tests/controller/world.h"

// Measured profiles of GPUs, as hellos bring them.
namespace rm::test {
namespace {

Hello measured_by(const std::string& node, const std::string& build, double flops) {
    Hello hello = hello_of(node, 1);
    hello.profiles = {{"L40S", "570.86.10", build, flops, format("{{\"of\": \"{}\"}}", node)}};
    return hello;
}

const KeptProfile& kept(const World& world) {
    return world.state.profiles.at({"L40S", "570.86.10"});
}

TEST(Profiles, OfAKindAndADriverAreKeptWithTheirNodeAndTime) {
    World world;
    const Outcome outcome = world.apply(NodeHello{measured_by("a", "b1", 1.8e14)});
    EXPECT_EQ(outcome.changes.profiles.size(), 1u);
    EXPECT_EQ(outcome.events.back().kind, "profile.measured");
    EXPECT_EQ(outcome.events.back().subject, "profile/L40S/570.86.10");
    EXPECT_EQ(kept(world).node, NodeId{"a"});
    EXPECT_EQ(kept(world).time, world.now);
    EXPECT_EQ(kept(world).measured.bf16_flops, 1.8e14);
    EXPECT_EQ(world.folded, flatten_tables(world.state));
}

TEST(Profiles, ThatAreKnownChangeNothing) {
    World world;
    world.apply(NodeHello{measured_by("a", "b1", 1.8e14)});
    const WallTime first = kept(world).time;
    EXPECT_TRUE(world.apply(NodeHello{measured_by("a", "b1", 1.8e14)}).changes.profiles.empty());
    EXPECT_TRUE(world.apply(NodeHello{measured_by("b", "b1", 1.7e14)}).changes.profiles.empty())
        << "another node's of the same build";
    EXPECT_EQ(kept(world).node, NodeId{"a"});
    EXPECT_EQ(kept(world).time, first);
}

TEST(Profiles, ThatAreMeasuredAgainOrFromANewBuildReplaceTheOld) {
    World world;
    world.apply(NodeHello{measured_by("a", "b1", 1.8e14)});
    world.apply(NodeHello{measured_by("a", "b1", 1.9e14)});
    EXPECT_EQ(kept(world).measured.bf16_flops, 1.9e14);
    world.apply(NodeHello{measured_by("b", "b2", 2e14)});
    EXPECT_EQ(kept(world).node, NodeId{"b"});
    EXPECT_EQ(kept(world).measured.build, "b2");
    EXPECT_EQ(world.state.profiles.size(), 1u);
    EXPECT_EQ(world.folded, flatten_tables(world.state));
}

TEST(Profiles, OfMoreThan256KiBAreRefusedWithTheHello) {
    Hello hello = measured_by("a", "b1", 1.8e14);
    hello.profiles[0].text.assign((256 << 10) + 1, ' ');
    const Status refused = check_hello(hello, {"cluster-1"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "worker a sends a profile of L40S with 262145 bytes; at most 262144");
}

}  // namespace
}  // namespace rm::test
