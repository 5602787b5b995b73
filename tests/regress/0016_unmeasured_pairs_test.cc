#include <gtest/gtest.h>

#include <chrono>

#include "controller/survey/link_book.h"

// For each unsurveyed pair, the controller searched all links again for the latency of the slowest
// one. Above 64 nodes most pairs are unsurveyed, so the graph of 400 nodes, which every planning
// pass needs, took 12 s of CPU time; now a tenth of a second.
namespace rm {
namespace {

TEST(Regress0016, TheGraphOfManyNodesIsMadeInMoments) {
    constexpr int kNodes = 400;
    constexpr int kMeasured = 32;  // pairs of each node, as in a survey of so many
    LinkBook book;
    std::vector<NodeId> ids;
    for (int i = 0; i < kNodes; ++i) {
        ids.push_back({format("node-{}", i)});
        book.nodes[ids.back()] = {.egress = {10}, .ingress = {5}, .num_devices = 1, .inside = {}};
    }
    for (int from = 0; from < kNodes; ++from) {
        for (int hop = 1; hop <= kMeasured; ++hop) {
            LinkState& link = book.links[{ids[static_cast<std::size_t>(from)],
                                          ids[static_cast<std::size_t>((from + hop) % kNodes)]}];
            link.bandwidth = {1};
            link.latency = {hop * 1e-6};
        }
    }
    const auto start = std::chrono::steady_clock::now();
    const LinkGraph graph = book.graph(ids);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 5);
    ASSERT_EQ(graph.num_nodes(), kNodes);
    EXPECT_EQ(graph.between(0, 1), (Link{{1}, {}, {1e-6}}));
    EXPECT_EQ(graph.between(0, 100), (Link{{5}, {}, {kMeasured * 1e-6}}))
        << "what its ends can, at the latency of the slowest";
    EXPECT_TRUE(validate(graph)) << validate(graph).error().message;
}

}  // namespace
}  // namespace rm
