#include "controller/core/jobs/make_snapshot.h"

#include "tests/controller/world.h"

namespace rm::test {
namespace {

TEST(MakeSnapshot, AsksForTheLinksOfItsNodesInOrderOfRegistration) {
    World world;
    world.hello("b", 2);
    world.hello("a", 1);
    PlanningSnapshot snapshot = planning_snapshot(world.state, world.now);
    EXPECT_TRUE(snapshot.links.empty());
    std::vector<NodeId> asked;
    add_links(snapshot, [&](const std::vector<NodeId>& nodes) {
        asked = nodes;
        return uniform_graph({{"a"}}, 1, {{10}, {}, {}}, {{80}, {}, {}});
    });
    EXPECT_EQ(asked, (std::vector<NodeId>{{"b"}, {"a"}}));
    EXPECT_EQ(snapshot.links.nodes.at(0).id, NodeId{"a"});
}

}  // namespace
}  // namespace rm::test
