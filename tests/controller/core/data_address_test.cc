#include "tests/controller/world.h"

// The data addresses of nodes: their workers offer several, the survey chooses.
namespace rm::test {
namespace {

constexpr const char* kFirst = "10.0.0.1";
constexpr const char* kSecond = "10.1.0.1";

Hello offering(std::vector<std::string> addresses) {
    Hello hello = hello_of("a", 1);
    hello.inventory.data_address = addresses.front();
    for (const std::string& address : addresses)
        hello.data_addresses.push_back({address, ""});
    return hello;
}

struct Chosen : World {
    Outcome outcome;
    Chosen() {
        apply(NodeHello{offering({kFirst, kSecond})});
        EXPECT_EQ(address(), kFirst);
        outcome = apply(DataAddressChosen{{"a"}, kSecond});
    }
    std::string address() const { return state.nodes.at({"a"}).inventory.data_address; }
};

TEST(DataAddress, ThatIsChosenIsInTheTablesAndTheJournal) {
    const Chosen world;
    EXPECT_EQ(world.address(), kSecond);
    ASSERT_EQ(world.outcome.events.size(), 1u);
    EXPECT_EQ(world.outcome.events[0].kind, "node.data_address_chosen");
    EXPECT_EQ(to_json(world.outcome.events[0].fields), R"({"data_address":"10.1.0.1"})");
    EXPECT_EQ(world.folded, flatten_tables(world.state));
}

TEST(DataAddress, ThatIsChosenStaysWhileTheWorkerOffersIt) {
    Chosen world;
    world.session_down("a");
    world.apply(NodeHello{offering({kFirst, "10.2.0.1", kSecond})});
    EXPECT_EQ(world.address(), kSecond);
    world.apply(NodeHello{offering({kFirst, "10.2.0.1"})});
    EXPECT_EQ(world.address(), kFirst) << "the interface is gone";
    Hello older = offering({kSecond});
    older.data_addresses.clear();
    world.apply(NodeHello{older});
    EXPECT_EQ(world.address(), kSecond) << "an older worker has one address";
}

TEST(DataAddress, IsOneThatTheNodeOffers) {
    Chosen world;
    for (const char* wrong : {"10.9.0.1", "", kSecond})
        EXPECT_TRUE(world.apply(DataAddressChosen{{"a"}, wrong}).events.empty()) << wrong;
    EXPECT_TRUE(world.apply(DataAddressChosen{{"x"}, kFirst}).events.empty());
    world.session_down("a");
    EXPECT_TRUE(world.apply(DataAddressChosen{{"a"}, kFirst}).events.empty());
    EXPECT_EQ(world.address(), kSecond);
}

TEST(DataAddress, GoesToTheWorkerWithTheLaunch) {
    Chosen world;
    const JobId id = world.submit(small_spec());
    const auto launches = commands<LaunchAttempt>(world.plan(id, {"a"}));
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0].data_address, kSecond);
}

TEST(DataAddress, OfWhichThereAreTooManyIsRefused) {
    const Hello many = offering(std::vector<std::string>(17, kFirst));
    EXPECT_EQ(check_hello(many, {}).error().message,
              "worker a offers 17 data addresses; at most 16");
}

}  // namespace
}  // namespace rm::test
