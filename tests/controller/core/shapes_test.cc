#include "controller/core/jobs/make_snapshot.h"
#include "tests/controller/world.h"

// The shapes of a provider's machines: prices that the list has by shape reach the planner.
namespace rm::test {
namespace {

constexpr const char* kShape = "l40s-48gb.10x";

Rates per_hour(double money) {
    return {.price = {.per_device_hour = money, .currency = "USD"}, .power = {}};
}

struct Rented : World {
    Rented() {
        apply(NodeHello{hello_of("a", 2)});
        apply(NodeHello{hello_of("b", 2)});
        kind = state.nodes.at({"a"}).inventory.devices.at(0).kind;
        state.prices = {{"l40s-48gb", per_hour(1.5)}, {kShape, per_hour(1.25)}};
    }
    double price() const {
        return rates_of(planning_snapshot(state, now).prices, kind).price.per_device_hour;
    }
    std::string kind;
};

TEST(Shapes, GiveTheKindsOfTheirMachinesAPrice) {
    Rented world;
    EXPECT_EQ(world.price(), 0) << "no entry has the kind's name";
    world.apply(ShapesKnown{{{{"a"}, kShape}, {{"b"}, kShape}}});
    EXPECT_EQ(world.price(), 1.25);
    EXPECT_EQ(rates_of(world.state, world.state.nodes.at({"a"}), world.kind), per_hour(1.25));
    world.apply(ShapesKnown{{{{"a"}, "l40s-48gb.2x"}, {{"b"}, kShape}}});
    EXPECT_EQ(world.price(), 1.5) << "the family's, which is the higher one";
    world.state.prices[world.kind] = per_hour(9);
    EXPECT_EQ(world.price(), 1.5) << "a shape comes before its kind";
    world.apply(ShapesKnown{{{{"a"}, kShape}}});
    EXPECT_EQ(world.price(), 9) << "nobody lists the machine of b";
    world.session_down("b");
    world.apply(NodeGone{{"b"}, "sold"});
    EXPECT_EQ(world.price(), 1.25);
}

TEST(Shapes, ThatAreNewAreAReasonToPlanAgainAndNoEvent) {
    Rented world;
    const std::uint64_t before = world.state.planning_version;
    const ShapesKnown known{{{{"a"}, kShape}}};
    EXPECT_TRUE(world.apply(known).events.empty());
    EXPECT_GT(world.state.planning_version, before);
    const std::uint64_t after = world.state.planning_version;
    world.apply(known);
    EXPECT_EQ(world.state.planning_version, after) << "the same again";
}

}  // namespace
}  // namespace rm::test
