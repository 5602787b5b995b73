#include "planner/placement/solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/placement/planted.h"
#include "planner/placement/devices.h"
#include "planner/placement/explain.h"

namespace rm {
namespace {

// The cluster of the lab: two racks of three with a cable of 100 between them, one node at 50.
LinkGraph lab() {
    LinkGraph graph = uniform_graph({{"n4"}, {"n1"}, {"n10"}, {"n2"}, {"n5"}, {"n3"}}, 1,
                                    {{0.4}, {}, {1e-4}}, {{10}, {}, {}});
    // Registered in this order; rack 0 is n1, n2, n3.
    graph.trunks = {{"there", {1, 3, 5}, {0, 2, 4}, {0.1}}, {"back", {0, 2, 4}, {1, 3, 5}, {0.1}}};
    graph.nodes[3].egress = graph.nodes[3].ingress = {0.05};  // n2
    return graph;
}

const StepTraffic kTraffic = {{Axis::ring, Pattern::ring, {10'000'000}, 10}};

std::string names(const LinkGraph& graph, const std::vector<Endpoint>& placement) {
    std::string text;
    for (const Endpoint& at : placement)
        text += graph.nodes[static_cast<std::size_t>(at.node)].id.value + " ";
    return text;
}

std::set<int> nodes(const Solution& solution) {
    std::set<int> numbers;
    for (const Endpoint& at : solution.placement)
        numbers.insert(at.node);
    return numbers;
}

Solution solve(const PlacementProblem& problem, const SolveOptions& options = {}) {
    auto solution = solve_placement(problem, options);
    EXPECT_TRUE(solution) << solution.error().message;
    const Status valid = check_solution(problem, *solution);
    EXPECT_TRUE(valid) << valid.error().message;
    return *solution;
}

TEST(Placement, OfARingOnTwoRacksCrossesTheCableOnceEachWay) {
    const LinkGraph graph = lab();
    const Mesh mesh = Mesh::make(1, 6, 1, 1).value();
    const Solution solution = solve({graph, mesh, kTraffic});
    EXPECT_TRUE(solution.optimal);
    EXPECT_DOUBLE_EQ(solution.cost.total.value, 0.08 / 0.05 + 10 * 1e-4) << "the slow node's NIC";
    int crossings = 0;
    const std::set<int> rack = {1, 3, 5};
    for (std::size_t i = 0; i < 6; ++i) {
        crossings += rack.contains(solution.placement[i].node) !=
                     rack.contains(solution.placement[(i + 1) % 6].node);
    }
    EXPECT_EQ(crossings, 2) << names(graph, solution.placement);
    EXPECT_EQ(names(graph, solution.registration), "n4 n1 n10 n2 n5 n3 ");
    EXPECT_EQ(names(graph, solution.by_node), "n1 n2 n3 n4 n5 n10 ");
    EXPECT_LT(solution.cost.total, solution.registration_cost.total);
}

TEST(Placement, OfARingOfThreeTakesTheRackWithoutTheSlowNode) {
    const LinkGraph graph = lab();
    const Solution solution = solve({graph, Mesh::make(1, 3, 1, 1).value(), kTraffic});
    EXPECT_EQ(nodes(solution), (std::set<int>{0, 2, 4})) << names(graph, solution.placement);
}

TEST(Placement, LeavesForbiddenDevicesAndTakesPreferredOnesThatCostNothing) {
    const LinkGraph graph = lab();
    const Mesh mesh = Mesh::make(1, 2, 1, 1).value();
    EXPECT_EQ(nodes(solve({graph, mesh, kTraffic, {{0, 0}, {2, 0}}})), (std::set<int>{1, 5}));
    EXPECT_EQ(nodes(solve({graph, mesh, kTraffic, {}, {{5, 0}, {1, 0}, {3, 0}}})),
              (std::set<int>{1, 5}))
        << "n2 is preferred, too, but slow";
}

TEST(Placement, OfTooFewDevicesIsRefusedWithWhatIsMissing) {
    const LinkGraph graph = lab();
    const auto refused =
        solve_placement({graph, Mesh::make(1, 6, 1, 1).value(), kTraffic, {{3, 0}}}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
    EXPECT_EQ(refused.error().message,
              "the mesh ring 6 needs 6 devices, 5 of 6 may be used; 1 is missing");
    const auto absent =
        solve_placement({graph, Mesh::make(1, 2, 1, 1).value(), kTraffic, {{6, 0}}}, {});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, ErrorCode::invalid_argument);
}

TEST(Placement, ACancelledSearchIsReplayedByItsEvaluations) {
    const PlantedProblem planted = plant(Planted::hidden_rings, 64, 3);
    const PlacementProblem problem{planted.graph, planted.mesh, planted.traffic};
    int asked = 0;
    const Solution cut =
        solve(problem, {.seed = 5, .budget = 100'000, .cancelled = [&] { return ++asked > 3; }});
    EXPECT_TRUE(cut.cancelled);
    EXPECT_GT(cut.evaluations, 0);
    EXPECT_LT(cut.evaluations, 100'000);
    const Solution replayed = solve(problem, {.seed = 5, .budget = cut.evaluations});
    EXPECT_FALSE(replayed.cancelled);
    EXPECT_EQ(replayed.placement, cut.placement);
}

TEST(Placement, CopesWithNodesOfDifferentSizes) {
    LinkGraph graph =
        uniform_graph({{"a"}, {"b"}, {"c"}, {"d"}}, 4, {{10}, {}, {}}, {{100}, {}, {}});
    graph.interiors.push_back({3, std::vector<Link>(9, Link{{100}, {}, {}}), {}});
    graph.nodes[0].interior = 1;
    for (LinkNode& node : graph.nodes)
        node.egress = {10};
    const StepTraffic traffic = {{Axis::tensor, Pattern::ring, {10'000'000}, 1},
                                 {Axis::ring, Pattern::ring, {1'000'000}, 1}};
    const Mesh mesh = Mesh::make(1, 3, 1, 4).value();
    const Solution solution = solve({graph, mesh, traffic});
    for (int group = 0; group < 3; ++group) {
        std::set<int> nodes;
        for (int i = 0; i < 4; ++i)
            nodes.insert(solution.placement[static_cast<std::size_t>(4 * group + i)].node);
        EXPECT_EQ(nodes.size(), 1U) << "tensor groups fit the nodes of four";
    }
}

TEST(PlacementSolution, ThatIsNotWhatItSaysIsRefused) {
    const LinkGraph graph = lab();
    const PlacementProblem problem{graph, Mesh::make(1, 3, 1, 1).value(), kTraffic};
    Solution solution = solve(problem);
    solution.cost.total = {1e-6};
    EXPECT_THAT(check_solution(problem, solution).error().message,
                testing::StartsWith("the search claims that the placement takes 1 us"));
    solution = solve(problem);
    solution.placement[0] = solution.placement[1];
    EXPECT_THAT(check_solution(problem, solution).error().message,
                testing::StartsWith("ranks 0 and 1 are both on device"));
    solution = solve(problem);
    solution.registration_cost.total = {1e-6};
    EXPECT_THAT(check_solution(problem, solution).error().message,
                testing::HasSubstr("registration order takes"));
}

TEST(PlacementExplanation, NamesWhatEachGroupWaitsFor) {
    const LinkGraph graph = lab();
    const StepTraffic traffic = {{Axis::ring, Pattern::ring, {10'000'000}, 1},
                                 {Axis::tensor, Pattern::ring, {10'000'000}, 1}};
    const PlacementProblem problem{graph, Mesh::make(1, 3, 1, 2).value(), traffic};
    // Tensor pairs n4 n10, n5 n1, n3 n2: one crosses the cable, one has the slow node.
    const auto reports =
        explain_placement(problem, {{0, 0}, {2, 0}, {4, 0}, {1, 0}, {5, 0}, {3, 0}});
    ASSERT_EQ(reports.size(), 2U + 3U);
    EXPECT_EQ(reports[2].ranks, (std::vector<int>{4, 5}));
    EXPECT_EQ(reports[2].resource, "ingress of n2");
    EXPECT_DOUBLE_EQ(reports[2].time.value, 0.08 / 0.05);
    EXPECT_EQ(reports[3].ranks, (std::vector<int>{2, 3}));
    EXPECT_EQ(reports[3].resource, "trunk back");
    EXPECT_EQ(reports[3].slowest, (Flow{2, 3, 10'000'000}));
    EXPECT_EQ(reports[4].ranks, (std::vector<int>{0, 1}));
    EXPECT_EQ(reports[4].resource, "link n4 -> n10");
    EXPECT_EQ(reports[0].resource, "trunk back") << "both rings share it";
    EXPECT_DOUBLE_EQ(reports[0].time.value, 0.16 / 0.1);
}

TEST(PlacementExplanation, NamesALinkThatASingleFlowFills) {
    LinkGraph graph = uniform_graph({{"a"}, {"b"}}, 1, {{0.3}, {0.3}, {}}, {{10}, {}, {}});
    const Mesh mesh = Mesh::make(1, 2, 1, 1).value();
    const auto waits = [&] {
        return explain_placement({graph, mesh, kTraffic}, {{0, 0}, {1, 0}})[0].resource;
    };
    EXPECT_EQ(waits(), "link a -> b");
    graph.between(0, 1).flow = {0.2};
    EXPECT_EQ(waits(), "limit of one flow");
}

TEST(PlacementReport, SetsAPlacementBesideBothSimpleOrdersOnTheSameDevices) {
    const LinkGraph graph = lab();
    const PlacementProblem problem{graph, Mesh::make(1, 3, 1, 1).value(), kTraffic, {{1, 0}}};
    const PlacementReport report = report_placement(problem, {{0, 0}, {5, 0}, {2, 0}});
    EXPECT_TRUE(report.predicted);
    EXPECT_EQ(report.traffic, kTraffic);
    const std::vector<DeviceId> ranks = {{{"n4"}, 0}, {{"n3"}, 0}, {{"n10"}, 0}};
    EXPECT_EQ(report.placed.ranks, ranks);
    EXPECT_DOUBLE_EQ(report.placed.total.value, 0.08 / 0.1 + 10 * 1e-4);
    EXPECT_EQ(report.placed.phases[0].slowest, "trunk there");
    const std::vector<DeviceId> registered = {{{"n4"}, 0}, {{"n10"}, 0}, {{"n2"}, 0}};
    EXPECT_EQ(report.registration.ranks, registered) << "n1 may not be used";
    EXPECT_DOUBLE_EQ(report.registration.total.value, 0.08 / 0.05 + 10 * 1e-4);
    const std::vector<DeviceId> sorted = {{{"n2"}, 0}, {{"n3"}, 0}, {{"n4"}, 0}};
    EXPECT_EQ(report.by_node.ranks, sorted);
    EXPECT_EQ(report.groups, explain_placement(problem, {{0, 0}, {5, 0}, {2, 0}}));
}

TEST(NodeNames, SortNumbersByValue) {
    EXPECT_TRUE(name_before("n2", "n10"));
    EXPECT_FALSE(name_before("n10", "n2"));
    EXPECT_TRUE(name_before("rack1-n9", "rack2-n1"));
    EXPECT_TRUE(name_before("n", "n1"));
    EXPECT_FALSE(name_before("a", "a"));
    EXPECT_FALSE(name_before("n007", "n7") && name_before("n7", "n007"));
}

}  // namespace
}  // namespace rm
