#include <gtest/gtest.h>

#include "controller/survey/link_book.h"

// When a node returned with fewer devices than were measured inside it, the planner read the graph
// of links beyond its end and planned no more jobs.
namespace rm {
namespace {

TEST(Regress0008, ANodeThatHadMoreDevicesIsInTheGraph) {
    LinkBook book;
    book.nodes[{"a"}] = {.egress = {10},
                         .ingress = {10},
                         .num_devices = 2,
                         .inside = {{.from = 0, .to = 1, .rate = {80}},
                                    {.from = 0, .to = 3, .rate = {1}},
                                    {.from = 3, .to = 2, .rate = {1}}}};
    const LinkGraph graph = book.graph({{"a"}});
    ASSERT_EQ(graph.num_devices(0), 2);
    EXPECT_EQ(graph.interior_of(0).pair(0, 1).bandwidth.value, 80);
    EXPECT_GT(graph.interior_of(0).pair(1, 0).bandwidth.value, 1) << "never measured";
    EXPECT_TRUE(validate(graph)) << validate(graph).error().message;
}

}  // namespace
}  // namespace rm
