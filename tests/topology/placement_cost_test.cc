#include "topology/placement_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/transfers.h"

namespace rm {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kGbit = 125'000'000;  // bytes

Mesh mesh(int data, int ring, int ulysses = 1, int tensor = 1, int inner = 0) {
    return Mesh::make(data, ring, ulysses, tensor, inner).value();
}

TEST(PlacementCost, GroupsFollowTheMesh) {
    EXPECT_THAT(
        groups_of(mesh(2, 2, 1, 2), Axis::ring),
        ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4, 6), ElementsAre(5, 7)));
    EXPECT_THAT(groups_of(mesh(2, 2, 1, 2), Axis::data),
                ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
    for (const Axis axis : {Axis::ring, Axis::ulysses, Axis::tensor}) {
        for (const std::vector<int>& group : groups_of(mesh(2, 3, 2, 2), axis))
            EXPECT_EQ(group, mesh(2, 3, 2, 2).group(group[0], axis));
    }
}

TEST(PlacementCost, FlowsOfARingGoToTheNextAndOfAnAllToAllToAll) {
    EXPECT_THAT(flows_of(mesh(1, 3), {Axis::ring, Pattern::ring, {7}}),
                ElementsAre(Flow{0, 1, 7}, Flow{1, 2, 7}, Flow{2, 0, 7}));
    EXPECT_THAT(flows_of(mesh(1, 1, 3), {Axis::ulysses, Pattern::all_to_all, {7}}),
                ElementsAre(Flow{0, 1, 4}, Flow{0, 2, 4}, Flow{1, 0, 4}, Flow{1, 2, 4},
                            Flow{2, 0, 4}, Flow{2, 1, 4}));
    EXPECT_TRUE(flows_of(mesh(1, 3), {Axis::tensor, Pattern::ring, {7}}).empty());
    EXPECT_THAT(flows_of(mesh(1, 4, 1, 1, 2), {Axis::ring, Pattern::ring, {7}, 1, {3}}),
                ElementsAre(Flow{0, 1, 7}, Flow{1, 0, 7}, Flow{2, 3, 7}, Flow{3, 2, 7},
                            Flow{0, 2, 3}, Flow{2, 0, 3}, Flow{1, 3, 3}, Flow{3, 1, 3}));
}

// Two racks of two nodes with a cable of 8 Gbit/s each way between them.
LinkGraph two_racks() {
    LinkGraph graph =
        uniform_graph({{"a"}, {"b"}, {"c"}, {"d"}}, 1, {{80}, {}, {0.001}}, {{80}, {}, {}});
    graph.trunks.push_back({"there", {0, 1}, {}, {8}});
    graph.trunks.push_back({"back", {2, 3}, {}, {8}});
    return graph;
}

std::vector<Endpoint> on(std::initializer_list<int> nodes) {
    std::vector<Endpoint> placement;
    for (const int node : nodes)
        placement.push_back({node, 0});
    return placement;
}

TEST(PlacementCost, ARingPaysForEachTimeItCrossesTheCable) {
    const LinkGraph graph = two_racks();
    const Routes routes(graph);
    const StepTraffic traffic = {{Axis::ring, Pattern::ring, {kGbit}, 3}};
    const PlacementCost once = placement_cost(routes, mesh(1, 4), traffic, on({0, 1, 2, 3}));
    EXPECT_DOUBLE_EQ(once.total.value, 0.125 + 3 * 0.001);
    EXPECT_EQ(routes.name(once.phases[0].slowest), "trunk there");
    const PlacementCost twice = placement_cost(routes, mesh(1, 4), traffic, on({0, 2, 1, 3}));
    EXPECT_DOUBLE_EQ(twice.total.value, 0.25 + 3 * 0.001);
    EXPECT_GT(twice.link_time, once.link_time);
}

TEST(PlacementCost, PhasesAreAddedUp) {
    const LinkGraph graph = two_racks();
    const Routes routes(graph);
    const StepTraffic traffic = {{Axis::ring, Pattern::ring, {kGbit}, 1},
                                 {Axis::data, Pattern::ring, {2 * kGbit}, 1},
                                 {Axis::tensor, Pattern::ring, {kGbit}, 1}};
    const PlacementCost cost = placement_cost(routes, mesh(2, 2), traffic, on({0, 1, 2, 3}));
    ASSERT_EQ(cost.phases.size(), 3U);
    EXPECT_DOUBLE_EQ(cost.phases[0].time.value, 0.0125 + 0.001) << "rings of two in their racks";
    EXPECT_DOUBLE_EQ(cost.phases[1].time.value, 0.25 + 0.001) << "gradients go all the way round";
    EXPECT_DOUBLE_EQ(cost.phases[2].time.value, 0);
    EXPECT_DOUBLE_EQ(cost.total.value, 0.0125 + 0.25 + 0.002);
}

TEST(PlacementCost, APhaseTakesWhatItsTransfersTake) {
    const LinkGraph graph = two_racks();
    const Routes routes(graph);
    const CommPhase phase = {Axis::ring, Pattern::ring, {kGbit}, 1};
    const std::vector<Endpoint> placement = on({3, 0, 2, 1});
    std::vector<Transfer> transfers;
    for (const Flow& flow : flows_of(mesh(2, 2), phase))
        transfers.push_back({placement[static_cast<std::size_t>(flow.from)],
                             placement[static_cast<std::size_t>(flow.to)],
                             {flow.bytes}});
    EXPECT_DOUBLE_EQ(placement_cost(routes, mesh(2, 2), {phase}, placement).total.value,
                     transfer_times(routes, transfers).total.value);
}

TEST(PlacementCost, CountsWhatComputeDoesNotHide) {
    const LinkGraph graph = two_racks();
    const Routes routes(graph);
    CommPhase phase = {Axis::ring, Pattern::ring, {kGbit}, 1};
    const std::vector<Endpoint> placement = on({3, 0, 2, 1});
    const auto total = [&] { return placement_cost(routes, mesh(2, 2), {phase}, placement).total; };
    const double all = total().value;
    phase.hidden = {all / 4};
    EXPECT_DOUBLE_EQ(total().value, all - all / 4);
    phase.hidden = {2 * all};
    EXPECT_EQ(total().value, 0);
    phase.hidden = {-1};
    EXPECT_FALSE(validate({phase}));
}

TEST(PlacementCheck, NamesWhatIsWrong) {
    const LinkGraph graph = two_racks();
    const auto error = [&](std::vector<Endpoint> placement, std::vector<Endpoint> forbidden = {}) {
        const Status status = check_placement(graph, mesh(1, 3), placement, forbidden);
        return status ? "valid" : status.error().message;
    };
    EXPECT_EQ(error(on({0, 3, 1})), "valid");
    EXPECT_EQ(error(on({0, 3})), "the placement has 2 devices; the mesh ring 3 has 3 ranks");
    EXPECT_EQ(error(on({0, 3, 0})), "ranks 0 and 2 are both on device 0 of node a");
    EXPECT_EQ(error(on({0, 3, 4})), "rank 2 is on node number 4; there are 4");
    EXPECT_EQ(error({{0, 0}, {1, 1}, {2, 0}}), "rank 1 is on device 1 of node b, which has 1");
    EXPECT_EQ(error(on({0, 3, 1}), on({3})), "rank 1 is on device 0 of node d, which is forbidden");
}

TEST(PlacementTraffic, IsChecked) {
    EXPECT_TRUE(validate(StepTraffic{{Axis::ring, Pattern::ring, {1}, 1}}));
    EXPECT_EQ(validate(StepTraffic{{Axis::ring, Pattern::ring, {-1}, 1}}).error().message,
              "traffic of ring ring is -1 bytes; it must be 0 or more");
    EXPECT_EQ(validate(StepTraffic{{Axis::data, Pattern::ring, {1}, -2}}).error().message,
              "traffic of data ring has -2 messages; it must be 0 or more");
}

}  // namespace
}  // namespace rm
