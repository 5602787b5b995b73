#include "planner/placement/solver/evaluator.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "bench/placement/planted.h"

namespace rm {
namespace {

// A small cluster with limits of every kind, all of them different.
LinkGraph crooked_graph(Rng& rng) {
    const auto rate = [&] { return GbitPerSec{1 + rng.uniform() * 50}; };
    LinkGraph graph =
        uniform_graph({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}, 4, {{10}, {}, {}}, {{10}, {}, {}});
    for (Link& link : graph.network)
        link = {rate(), rng.below(4) == 0 ? rate() : GbitPerSec{}, {rng.uniform() * 1e-3}};
    for (Link& link : graph.interiors[0].pairs)
        link.bandwidth = rate();
    graph.interiors[0].bridges = {{"p0", {0, 2}, rate(), rate()}, {"p1", {3}, rate(), {}}};
    for (LinkNode& node : graph.nodes)
        node.egress = rate();
    graph.trunks = {{"out", {0, 1}, {}, rate()}, {"in", {}, {0, 1}, rate()}};
    return graph;
}

TEST(Evaluator, KeepsExactlyTheCostWhileRanksMove) {
    Rng rng(3);
    const LinkGraph graph = crooked_graph(rng);
    const StepTraffic traffic = {{Axis::tensor, Pattern::all_to_all, {1000}, 2},
                                 {Axis::ring, Pattern::ring, {70'000}, 3, {30'000}},
                                 {Axis::ulysses, Pattern::all_to_all, {9000}, 1},
                                 {Axis::data, Pattern::ring, {50'000}, 1}};
    const Mesh mesh = Mesh::make(1, 4, 2, 2, 2).value();
    const PlacementProblem problem{graph, mesh, traffic};
    const Routes routes(graph);
    Evaluator evaluator(routes, problem);
    std::vector<Endpoint> placement;
    for (int rank = 0; rank < 20; ++rank)
        placement.push_back({rank / 4, rank % 4});
    const auto current = [&] { return std::span(placement).first(16); };
    evaluator.place(current());
    for (int move = 0; move < 2000; ++move) {
        // The last four are free devices.
        const auto a = rng.below(16);
        const auto b = rng.below(20);
        std::swap(placement[a], placement[b]);
        std::vector<RankMove> moves = {{static_cast<int>(a), placement[a]}};
        if (b < 16 && b != a) moves.push_back({static_cast<int>(b), placement[b]});
        evaluator.move(moves);
        const PlacementCost cost = placement_cost(routes, mesh, traffic, current());
        ASSERT_EQ(evaluator.score().time, cost.total.value) << "move " << move;
        for (int phase = 0; phase < evaluator.num_phases(); ++phase)
            ASSERT_EQ(evaluator.phase_time(phase),
                      cost.phases[static_cast<std::size_t>(phase)].time.value);
        ASSERT_NEAR(static_cast<double>(evaluator.score().link_time) / 1099511627776.0,
                    cost.link_time.value, 1e-6 * cost.link_time.value);
    }
}

TEST(Evaluator, FlowsOfTheBottleneckCrossIt) {
    PlantedProblem planted = plant(Planted::racks, 64, 1);
    const PlacementProblem problem{planted.graph, planted.mesh, planted.traffic};
    const Routes routes(planted.graph);
    Evaluator evaluator(routes, problem);
    evaluator.place(planted.hidden);
    const PlacementCost cost =
        placement_cost(routes, planted.mesh, planted.traffic, planted.hidden);
    for (int phase = 0; phase < evaluator.num_phases(); ++phase) {
        const std::vector<Flow> flows = evaluator.bottleneck(phase);
        ASSERT_FALSE(flows.empty());
        for (const Flow& flow : flows) {
            bool crosses = false;
            routes
                .route(planted.hidden[static_cast<std::size_t>(flow.from)],
                       planted.hidden[static_cast<std::size_t>(flow.to)])
                .for_each([&](int r) {
                    crosses = crosses || r == cost.phases[static_cast<std::size_t>(phase)].slowest;
                });
            EXPECT_TRUE(crosses);
        }
    }
}

}  // namespace
}  // namespace rm
