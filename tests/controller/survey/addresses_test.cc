#include <gmock/gmock.h>

#include "tests/controller/survey/simulated_addresses.h"

// The survey chooses the nodes' data addresses.
namespace rm::test {
namespace {

using Nodes = std::vector<double>;
using ::testing::IsEmpty;

std::string slow(int node) {
    return SimulatedAddresses::address(0, node);
}
std::string fast(int node) {
    return SimulatedAddresses::address(1, node);
}

SimulatedAddresses two_networks(std::size_t num_nodes, double first = 0.04, double second = 0.3,
                                SurveyOptions options = {.automatic = false}) {
    return SimulatedAddresses(
        {{"10.0.0.0/16", Nodes(num_nodes, first)}, {"10.1.0.0/16", Nodes(num_nodes, second)}},
        std::move(options));
}

TEST(Addresses, OfAFastSecondNetworkAreChosenAndItsLinksMeasured) {
    SimulatedAddresses sim = two_networks(4);
    sim.survey();
    ASSERT_EQ(sim.choices.size(), 4u);
    EXPECT_EQ(sim.choices[1], (AddressChoice{sim.nodes[1].id, slow(1), fast(1), {0.04}, {0.3}}));
    EXPECT_THAT(sim.links, ::testing::Each(::testing::Field(&SimulatedAddresses::Call::second,
                                                            ::testing::StartsWith("10.1."))))
        << "though the controller has not said so yet";
    EXPECT_DOUBLE_EQ(sim.link(0, 3).bandwidth.value, 0.3);
    sim.accept_choices();
    sim.survey();
    EXPECT_THAT(sim.choices, IsEmpty()) << "they are there now";
}

TEST(Addresses, ThatOneNodeLacksAreNotChosen) {
    SimulatedAddresses sim({{"10.0.0.0/16", Nodes(4, 0.04)}, {"10.1.0.0/16", {0.3, 0.3, 0.3, 0}}});
    sim.survey();
    EXPECT_THAT(sim.choices, IsEmpty());
    EXPECT_DOUBLE_EQ(sim.link(0, 1).bandwidth.value, 0.04);
}

// A node is tried by 16 of the others, and not by the one that is outside.
TEST(Addresses, ThatOneOfManyNodesLacksAreNotChosen) {
    Nodes rates(40, 0.3);
    rates[27] = 0;
    SimulatedAddresses sim({{"10.0.0.0/16", Nodes(40, 0.04)}, {"10.1.0.0/16", rates}});
    sim.survey();
    EXPECT_THAT(sim.choices, IsEmpty());
    sim.nodes.erase(sim.nodes.begin() + 27);
    sim.survey();
    EXPECT_EQ(sim.choices.size(), 39u);
}

TEST(Addresses, ThatNobodyReachesAreNotChosen) {
    SimulatedAddresses sim = two_networks(4);
    for (const int peer : {1, 2, 3})
        sim.cut.insert({peer, fast(0)});
    sim.survey();
    EXPECT_EQ(sim.moved(), (std::map<std::string, std::string>{
                               {"n1", fast(1)}, {"n2", fast(2)}, {"n3", fast(3)}}));
}

TEST(Addresses, StayUnlessAnotherIsClearlyFaster) {
    SimulatedAddresses alike = two_networks(3, 0.3, 0.35);
    alike.survey();
    EXPECT_THAT(alike.choices, IsEmpty());
    SimulatedAddresses clear = two_networks(3, 0.3, 0.37);
    clear.survey();
    EXPECT_EQ(clear.choices.size(), 3u);
}

TEST(Addresses, ThatAPeerDoesNotReachAreLeftAlsoForSlowerOnes) {
    SimulatedAddresses sim = two_networks(3, 0.3, 0.04);
    sim.cut.insert({2, slow(0)});
    sim.survey();
    ASSERT_EQ(sim.choices.size(), 1u);
    EXPECT_EQ(sim.choices[0], (AddressChoice{sim.nodes[0].id, slow(0), fast(0), {}, {0.04}}));
}

TEST(Addresses, StayWhenAProbeIsLost) {
    SimulatedAddresses sim = two_networks(3, 0.3, 0.3);
    sim.lost[{2, slow(0)}] = 1;
    sim.survey();
    EXPECT_THAT(sim.choices, IsEmpty());
    // Twice in vain where it is, but elsewhere only once.
    sim.lost = {{{2, slow(0)}, 2}, {{2, fast(0)}, 1}};
    sim.survey();
    EXPECT_THAT(sim.choices, IsEmpty());
}

TEST(Addresses, AreNotJudgedByADeadPeer) {
    SimulatedAddresses alike = two_networks(4, 0.3, 0.3);
    alike.silent = {2};
    alike.survey();
    EXPECT_THAT(alike.choices, IsEmpty());
    SimulatedAddresses sim = two_networks(4);
    sim.isolated = {2};
    sim.silent = {3};
    sim.survey();
    EXPECT_EQ(sim.moved().size(), 4u);
    SimulatedAddresses lonely = two_networks(2);
    lonely.isolated = {0, 1};
    lonely.survey();
    EXPECT_THAT(lonely.choices, IsEmpty());
}

TEST(Addresses, LeaveTheBaselinesOfLinksAsTheyWere) {
    SimulatedAddresses sim = two_networks(3);
    std::vector<SurveyNode> both = sim.nodes;
    for (SurveyNode& node : sim.nodes)
        node.candidates.resize(1);
    sim.survey();
    EXPECT_THAT(sim.tries, IsEmpty());
    EXPECT_EQ(sim.link(0, 1).good, (std::vector<double>{0.04}));
    sim.nodes = both;
    sim.survey();
    EXPECT_EQ(sim.choices.size(), 3u);
    EXPECT_EQ(sim.link(0, 1).good, (std::vector<double>{0.04, 0.3}));
    EXPECT_TRUE(sim.core.book().degraded().empty());
}

TEST(Addresses, OfOneMachineAreNotTriedByItself) {
    SimulatedAddresses sim = two_networks(4);
    for (SurveyNode& node : sim.nodes)
        node.network = "netns 1";
    sim.survey();
    EXPECT_THAT(sim.tries, IsEmpty());
    // Two machines of two workers.
    sim.nodes[2].network = sim.nodes[3].network = "netns 2";
    sim.survey();
    EXPECT_EQ(sim.moved().size(), 4u);
}

TEST(Addresses, AreTriedWithinTheBudgetOfTheJobsThere) {
    SimulatedAddresses sim = two_networks(4, 0.04, 0.3, {.budget = 0.05, .automatic = false});
    for (SurveyNode& node : sim.nodes)
        node.jobs = {"job"};
    sim.survey();
    EXPECT_EQ(sim.choices.size(), 4u);
    EXPECT_NEAR(sim.trying.value / sim.trying_with_pauses.value, 0.05, 0.001);
    SimulatedAddresses none = two_networks(4, 0.04, 0.3, {.budget = 0, .automatic = false});
    none.nodes = sim.nodes;
    none.survey();
    EXPECT_THAT(none.tries, IsEmpty());
    EXPECT_THAT(none.choices, IsEmpty());
}

// docs/survey.md says how long this takes.
TEST(Addresses, Of512NodesAreTriedBy16PeersEachInDisjointPairs) {
    constexpr int kNodes = 512;
    const SimulatedAddresses sim = two_networks(kNodes);
    AddressRun run(sim.nodes, {}, 1);
    std::map<std::string, std::set<int>> peers;
    while (const auto step = run.next()) {
        std::set<int> busy;
        std::vector<ProbeReport> reports;
        for (const ProbeTask& task : *step) {
            EXPECT_TRUE(busy.insert(task.from).second && busy.insert(task.to).second);
            const bool is_fast = task.address == 1;
            peers[is_fast ? fast(task.to) : slow(task.to)].insert(task.from);
            reports.push_back({.id = 1, .samples = {{.rate = {is_fast ? 0.3 : 0.04}}}});
        }
        run.record(*step, reports);
        ASSERT_EQ(run.steps_known(), 128u);
    }
    EXPECT_EQ(run.steps_done(), 16u * 2 * 2 * 2) << "peers, directions, tries, addresses";
    EXPECT_EQ(peers.size(), 2u * kNodes);
    for (const auto& [address, by] : peers)
        EXPECT_LE(by.size(), 16u) << address;
    EXPECT_EQ(run.choices().size(), usize(kNodes));
}

}  // namespace
}  // namespace rm::test
