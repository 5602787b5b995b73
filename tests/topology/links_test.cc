#include "topology/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rm {
namespace {

LinkGraph three_nodes() {
    LinkGraph graph = uniform_graph({{"a"}, {"b"}, {"c"}}, 2, {{10}, {}, {1e-4}}, {{100}, {}, {}});
    graph.interiors[0].bridges.push_back({"p0", {0}, {50}, {50}});
    graph.trunks.push_back({"cable", {0, 1}, {2}, {5}});
    return graph;
}

std::string error_of(const LinkGraph& graph) {
    const Status valid = validate(graph);
    return valid ? "valid" : valid.error().message;
}

TEST(Links, OfAUniformGraphAreAllThere) {
    const LinkGraph graph = three_nodes();
    EXPECT_EQ(error_of(graph), "valid");
    EXPECT_EQ(graph.num_devices(), 6);
    EXPECT_EQ(graph.between(0, 2).bandwidth.value, 10);
    EXPECT_EQ(graph.interior_of(1).pair(0, 1).bandwidth.value, 100);
}

TEST(Links, ABadLinkIsNamedByItsEnds) {
    LinkGraph graph = three_nodes();
    graph.between(2, 1).bandwidth = {0};
    EXPECT_EQ(error_of(graph),
              "link from node c to b has a bandwidth of 0 Gbit/s; it must be above 0");
    graph = three_nodes();
    graph.between(0, 1).latency = {-1};
    EXPECT_THAT(error_of(graph), testing::StartsWith("link from node a to b has a latency of -1"));
    graph = three_nodes();
    graph.interiors[0].pairs[1].bandwidth = {-4};
    EXPECT_THAT(error_of(graph), testing::StartsWith("link from device 0 to 1 of interior 0"));
}

TEST(Links, WhatIsInconsistentIsRefused) {
    const auto broken = [](auto change) {
        LinkGraph graph = three_nodes();
        change(graph);
        return error_of(graph);
    };
    EXPECT_EQ(broken([](LinkGraph& g) { g.nodes[1].id = g.nodes[0].id; }),
              "node a is listed twice");
    EXPECT_EQ(broken([](LinkGraph& g) { g.nodes[2].interior = 3; }),
              "node c has interior 3; there are 1");
    EXPECT_EQ(broken([](LinkGraph& g) { g.nodes[2].egress = {-1}; }),
              "egress of node c is -1 Gbit/s; it must be 0 (not a limit) or more");
    EXPECT_EQ(broken([](LinkGraph& g) { g.network.pop_back(); }),
              "the network has 8 links; 3 nodes need 9");
    EXPECT_EQ(broken([](LinkGraph& g) {
                  g.interiors[0].bridges[0].devices = {0, 2};
              }),
              "host bridge 'p0' of interior 0 has a device 2; the interior has 2 devices");
    EXPECT_EQ(broken([](LinkGraph& g) {
                  g.interiors[0].bridges.push_back({"p1", {0}, {}, {}});
              }),
              "host bridge 'p1' of interior 0 has device 0, which is listed twice");
    EXPECT_EQ(broken([](LinkGraph& g) { g.trunks[0].to = {1}; }),
              "trunk 'cable' names node number 1 twice");
    EXPECT_EQ(broken([](LinkGraph& g) { g.trunks[0].from = {7}; }),
              "trunk 'cable' names node number 7; there are 3");
    EXPECT_EQ(broken([](LinkGraph& g) { g.trunks[0].bandwidth = {0}; }),
              "trunk 'cable' has a bandwidth of 0 Gbit/s; it must be above 0");
}

}  // namespace
}  // namespace rm
