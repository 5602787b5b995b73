#include "tests/controller/survey/simulated_survey.h"

// A worker with a session that never answered a probe made each step of a survey wait for the full
// timeout: a quarter of an hour for forty nodes, and twenty times that while a job ran.
namespace rm::test {
namespace {

TEST(Regress0012, ASilentWorkerIsNotAskedForEver) {
    SimulatedSurvey sim(PlantedNetwork::of({{std::vector<double>(40, 10), 0}}));
    sim.silent = sim.id(4);
    const MonoTime start = sim.now.mono;
    const auto survey = sim.survey();
    ASSERT_TRUE(survey);
    EXPECT_LT((sim.now.mono - start).value, 180);
    EXPECT_EQ(survey->num_links, 40 * 39 - 39) << "to it everybody else measures";
    sim.silent = {};
    const auto next = sim.survey();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->num_links, 40 * 39) << "the next survey asks it again";
}

}  // namespace
}  // namespace rm::test
