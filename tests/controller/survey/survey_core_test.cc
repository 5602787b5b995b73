#include "tests/controller/survey/simulated_survey.h"

namespace rm::test {
namespace {

PlantedNetwork two_racks() {
    return PlantedNetwork::of({{{0.4, 0.4, 0.4}, 0.05}, {{0.4, 0.4, 0.1}, 0.05}});
}

TEST(Survey, OfFortyNodesMeasuresEveryPairInUnderTwoMinutes) {
    const std::vector<double> twenty(20, 17.5);
    SimulatedSurvey sim(PlantedNetwork::of({{twenty, 60}, {twenty, 60}}));
    const MonoTime start = sim.now.mono;
    const auto survey = sim.survey();
    ASSERT_TRUE(survey);
    EXPECT_LT((sim.now.mono - start).value, 120);
    EXPECT_EQ(survey->num_links, 40 * 39);
    EXPECT_EQ(survey->num_failed, 0);
    EXPECT_EQ(sim.core.book().links.size(), 40u * 39u);
}

TEST(Survey, MeasuresTheLinksThatJobsUseFirstAlsoWhereItSamples) {
    constexpr int kNodes = 100;
    constexpr int kLinks = 10;
    SimulatedSurvey sim(PlantedNetwork::of({{std::vector<double>(kNodes, 10), 1000}}));
    std::set<LinkEnds> used;
    for (int i = 0; i < kLinks; ++i) {
        const NodeId to = sim.id((7 * i + 13) % kNodes);
        sim.nodes[static_cast<std::size_t>(i)].sends_to = {to};
        used.insert({sim.id(i), to});
    }
    sim.core.set_nodes(sim.nodes, sim.now);
    ASSERT_TRUE(sim.survey());
    EXPECT_LT(sim.core.book().links.size(), static_cast<std::size_t>(kNodes) * (kNodes - 1) / 2);
    const std::size_t of_a_round = sim.core.nodes().size() / 2 * SurveyLimits().streams.size() * 2;
    std::set<LinkEnds> first;
    for (std::size_t i = 0; i < kLinks * of_a_round; ++i)
        first.insert(sim.samples[i].ends);
    for (const LinkEnds& link : used)
        EXPECT_TRUE(first.contains(link)) << link.first << " to " << link.second;
}

TEST(Survey, GivesThePlacementAGraphWithEveryRateAndTheCables) {
    SimulatedSurvey sim(two_racks());
    ASSERT_TRUE(sim.survey());
    std::vector<NodeId> ids;
    for (const SurveyNode& node : sim.nodes)
        ids.push_back(node.id);
    const LinkGraph graph = sim.core.book().graph(ids);
    EXPECT_TRUE(validate(graph)) << validate(graph).error().message;
    for (int a = 0; a < 6; ++a) {
        for (int b = 0; b < 6; ++b) {
            if (a == b) continue;
            const double wanted = sim.planted_.alone(a, b);
            EXPECT_NEAR(graph.between(a, b).bandwidth.value, wanted, 0.15 * wanted);
            EXPECT_NEAR(graph.between(a, b).flow.value, wanted, 0.15 * wanted);
        }
    }
    ASSERT_EQ(graph.trunks.size(), 2u);
    EXPECT_EQ(graph.trunks[0].name, "n0,n1,n2 to n3,n4,n5");
    EXPECT_NEAR(graph.trunks[1].bandwidth.value, 0.05, 0.0075);
    EXPECT_NEAR(graph.nodes[5].egress.value, 0.1, 0.015);
}

TEST(Survey, OfManyNodesSamplesAndCompletesTheRest) {
    SimulatedSurvey sim(
        PlantedNetwork::of({{std::vector<double>(50, 10), 80}, {std::vector<double>(50, 10), 80}}));
    const auto survey = sim.survey();
    ASSERT_TRUE(survey);
    EXPECT_LT(survey->num_links, 100 * 99 / 2);
    std::vector<NodeId> ids;
    for (const SurveyNode& node : sim.nodes)
        ids.push_back(node.id);
    const LinkGraph graph = sim.core.book().graph(ids);
    ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
    for (int a = 0; a < 100; ++a) {
        for (int b = 0; b < 100; ++b) {
            if (a == b) continue;
            EXPECT_NEAR(graph.between(a, b).bandwidth.value, 10, 1.5) << a << " to " << b;
        }
    }
    EXPECT_EQ(graph.trunks.size(), 2u);
}

TEST(Survey, StaysWithinItsBudgetWhileAJobRuns) {
    SimulatedSurvey sim(two_racks(), {.budget = 0.05, .automatic = false});
    for (SurveyNode& node : sim.nodes)
        node.job = "job";
    sim.core.set_nodes(sim.nodes, sim.now);
    const MonoTime start = sim.now.mono;
    ASSERT_TRUE(sim.survey(Seconds{1e6}));
    // The last probe is paid for after the end.
    const double share = sim.probing.value / (sim.now.mono - start).value;
    EXPECT_LT(share, 0.06);
    EXPECT_GT(share, 0.03) << "it does use its budget";
}

TEST(Survey, LeavesJobsAloneWithoutABudget) {
    SimulatedSurvey sim(two_racks(), {.budget = 0, .automatic = false});
    sim.nodes[0].job = "job";
    sim.core.set_nodes(sim.nodes, sim.now);
    const auto survey = sim.survey();
    ASSERT_TRUE(survey);
    EXPECT_EQ(survey->num_links, 5 * 4) << "between the others";
    for (const LinkSample& sample : sim.samples)
        EXPECT_TRUE(sample.ends.first != sim.id(0) && sample.ends.second != sim.id(0));
}

TEST(Survey, RaisesAnAlarmThatNamesBothEndsAndTakesItBack) {
    SimulatedSurvey sim(two_racks());
    ASSERT_TRUE(sim.survey());
    EXPECT_TRUE(sim.drifts.empty());
    sim.planted_.graph.between(0, 1).bandwidth = {0.1};
    ASSERT_TRUE(sim.survey());
    ASSERT_EQ(sim.drifts.size(), 1u);
    EXPECT_EQ(sim.drifts[0].ends, (LinkEnds{sim.id(0), sim.id(1)}));
    EXPECT_TRUE(sim.drifts[0].degraded);
    EXPECT_NEAR(sim.drifts[0].baseline.value, 0.4, 0.01);
    EXPECT_NEAR(sim.drifts[0].now.value, 0.1, 0.01);
    EXPECT_EQ(sim.core.book().degraded().size(), 1u);
    sim.drifts.clear();
    ASSERT_TRUE(sim.survey());
    EXPECT_TRUE(sim.drifts.empty()) << "it is said once";
    sim.planted_.graph.between(0, 1).bandwidth = {1e4};
    ASSERT_TRUE(sim.survey());
    ASSERT_EQ(sim.drifts.size(), 1u);
    EXPECT_FALSE(sim.drifts[0].degraded);
    EXPECT_TRUE(sim.core.book().degraded().empty());
}

TEST(Survey, DegradesEveryLinkOverADegradedCable) {
    SimulatedSurvey sim(two_racks());
    ASSERT_TRUE(sim.survey());
    for (Trunk& trunk : sim.planted_.graph.trunks)
        trunk.bandwidth = {0.02};
    ASSERT_TRUE(sim.survey());
    EXPECT_EQ(sim.core.book().degraded().size(), 18u);
}

TEST(Survey, BeginsByItselfSomeTimeAfterTheLastJoin) {
    SimulatedSurvey sim(two_racks(), {.automatic = true, .settle = Seconds{10}});
    const MonoTime start = sim.now.mono;
    sim.advance(6);
    sim.nodes.push_back({.id = {"late"}, .address = "10.0.0.9", .probe_port = 7080});
    sim.core.set_nodes(sim.nodes, sim.now);
    EXPECT_NEAR((sim.core.due() - start).value, 16, 1e-3);
    sim.core.set_nodes(sim.nodes, sim.now);
    EXPECT_NEAR((sim.core.due() - start).value, 16, 1e-3) << "nobody has joined since";
}

TEST(Survey, GoesOnWithItsIntervalAfterARestart) {
    SimulatedSurvey sim(two_racks());
    ASSERT_TRUE(sim.survey());
    SurveyCore again({.automatic = true}, sim.core.book(), 1);
    again.set_nodes(sim.nodes, sim.now);
    EXPECT_NEAR((again.due() - sim.now.mono).value, 6 * 3600, 1e-3);
}

TEST(Survey, LooksAgainSoonAfterADrift) {
    SimulatedSurvey sim(two_racks(), {.automatic = true});
    ASSERT_TRUE(sim.run(Seconds{600}));
    EXPECT_NEAR((sim.core.due() - sim.now.mono).value, 6 * 3600, 1e-3);
    sim.planted_.graph.between(3, 4).bandwidth = {0.1};
    ASSERT_TRUE(sim.run(Seconds{1e5}));
    EXPECT_NEAR((sim.core.due() - sim.now.mono).value, 60, 1e-3);
}

TEST(Survey, OfOneMachineFindsNoCablesAndRaisesNoAlarms) {
    SimulatedSurvey sim(two_racks());
    for (SurveyNode& node : sim.nodes)
        node.address = "127.0.0.1";
    sim.core.set_nodes(sim.nodes, sim.now);
    const MonoTime start = sim.now.mono;
    ASSERT_TRUE(sim.survey());
    EXPECT_LT((sim.now.mono - start).value, 5) << "briefly, with one stream";
    sim.planted_.graph.between(0, 1).bandwidth = {0.1};
    ASSERT_TRUE(sim.survey());
    EXPECT_TRUE(sim.drifts.empty());
    EXPECT_EQ(sim.core.book().groups.size(), 1u);
    std::vector<NodeId> ids;
    for (const SurveyNode& node : sim.nodes)
        ids.push_back(node.id);
    EXPECT_TRUE(sim.core.book().graph(ids).trunks.empty());
}

TEST(Survey, GoesOnWithoutANodeThatDoesNotAnswerOrHasLeft) {
    SimulatedSurvey sim(two_racks());
    sim.silent = sim.id(4);
    const auto survey = sim.survey();
    ASSERT_TRUE(survey);
    EXPECT_EQ(survey->num_links, 6 * 5 - 5) << "to it everybody else measures";
    EXPECT_GE(survey->num_failed, 6);
    ASSERT_FALSE(survey->errors.empty());
    EXPECT_EQ(survey->errors[0], "n4 has not answered a probe");
}

TEST(Survey, NeedsTwoNodes) {
    SimulatedSurvey sim(PlantedNetwork::of({{{1.0}, 0}}));
    const auto number = sim.core.request("request", sim.now);
    ASSERT_FALSE(number);
    EXPECT_EQ(number.error().code, ErrorCode::failed_precondition);
}

TEST(Survey, TakesNoReportOfAProbeThatItHasNotAskedFor) {
    SimulatedSurvey sim(two_racks());
    ASSERT_TRUE(sim.core.request("request", sim.now));
    const SurveyOutputs begun = sim.core.tick(sim.now);
    ASSERT_EQ(begun.commands.size(), 6u) << "first every node measures itself";
    const std::uint64_t first = begun.commands[0].id;
    EXPECT_TRUE(sim.core.take(sim.id(1), {.id = first}, sim.now).commands.empty());
    EXPECT_TRUE(sim.core.take(sim.id(0), {.id = 99}, sim.now).commands.empty());
    EXPECT_EQ(sim.core.progress().steps_done, 0u);
}

}  // namespace
}  // namespace rm::test
