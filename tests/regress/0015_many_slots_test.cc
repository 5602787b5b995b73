#include "tests/controller/survey/simulated_survey.h"

// Measuring the inside of a node takes longer the more devices it has; the survey did not wait long
// enough for a node with many slots.
namespace rm::test {
namespace {

TEST(Regress0015, TheInsideOfANodeWithManySlotsHasItsTime) {
    SimulatedSurvey sim(PlantedNetwork::of({{{1, 1}, 0}}));
    sim.nodes[1].num_devices = 64;
    sim.core.set_nodes(sim.nodes, sim.now);
    ASSERT_TRUE(sim.core.request("request", sim.now));
    ASSERT_EQ(sim.core.tick(sim.now).commands.size(), 2u);
    // 64 x 65 connections of 4.4 ms each.
    EXPECT_GT((sim.core.due() - sim.now.mono).value, 18.3);
    EXPECT_LT((sim.core.due() - sim.now.mono).value, 40);
}

}  // namespace
}  // namespace rm::test
