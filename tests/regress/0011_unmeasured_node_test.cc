#include "tests/controller/survey/simulated_survey.h"

// A survey that could not probe a node, because a job ran there and the budget is 0, forgot the
// node's measurements: placement treated it as never measured.
namespace rm::test {
namespace {

TEST(Regress0011, ASurveyThatLeavesANodeAloneForgetsNothingOfIt) {
    SimulatedSurvey sim(PlantedNetwork::of({{{0.4, 0.4, 0.1}, 0}}),
                        {.budget = 0, .automatic = false});
    ASSERT_TRUE(sim.survey());
    sim.nodes[2].jobs = {"job"};
    sim.core.set_nodes(sim.nodes, sim.now);
    ASSERT_TRUE(sim.survey());
    const LinkGraph graph = sim.core.book().graph({sim.id(0), sim.id(1), sim.id(2)});
    ASSERT_EQ(graph.num_nodes(), 3);
    EXPECT_NEAR(graph.nodes[2].egress.value, 0.1, 0.01);
    EXPECT_NEAR(graph.between(0, 2).bandwidth.value, 0.1, 0.01);
}

}  // namespace
}  // namespace rm::test
