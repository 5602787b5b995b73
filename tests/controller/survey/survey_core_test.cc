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

TEST(LinkBook, GivesThePlacementTheBridgesThatDevicesShare) {
    LinkBook book;
    book.nodes[{"a"}] = {.egress = {10},
                         .ingress = {10},
                         .num_devices = 4,
                         .inside = {},
                         .bridges = {{"0000:40:01.0", {0, 1}, {200}, {210}},
                                     {"0000:40:02.0", {1, 2}, {200}, {210}},
                                     {"0000:80:01.0", {3, 4}, {200}, {210}}}};
    const LinkGraph graph = book.graph({{"a"}});
    EXPECT_TRUE(validate(graph)) << validate(graph).error().message;
    const std::vector<HostBridge> wanted = {{"0000:40:01.0", {0, 1}, {200}, {210}}};
    EXPECT_EQ(graph.interior_of(0).bridges, wanted)
        << "a device is below one bridge, and the node has no device 4 now";
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
        node.jobs = {"job"};
    sim.core.set_nodes(sim.nodes, sim.now);
    const MonoTime start = sim.now.mono;
    ASSERT_TRUE(sim.survey(Seconds{1e6}));
    // The pause that pays for the last probe comes after the end.
    const double share = sim.probing.value / (sim.now.mono - start).value;
    EXPECT_LT(share, 0.06);
    EXPECT_GT(share, 0.03) << "it does use its budget";
}

TEST(Survey, LeavesJobsAloneWithoutABudget) {
    SimulatedSurvey sim(two_racks(), {.budget = 0, .automatic = false});
    sim.nodes[0].jobs = {"job"};
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

// A training whose ring crosses from n0 to n1, half a second a step, among nodes that have been
// surveyed.
class Training {
public:
    explicit Training(SurveyOptions options = {.automatic = true})
        : sim(two_racks(), std::move(options)) {
        if (sim.core.due() == kNever) {
            EXPECT_TRUE(sim.core.request("request", sim.now));
        }
        EXPECT_TRUE(sim.run(Seconds{600}));
        sim.advance(60);
    }
    void train(int num_steps, double rate, Epoch epoch = {1}) {
        for (int i = 0; i < num_steps; ++i) {
            sim.advance(0.5);
            sim.core.take({.epoch = epoch,
                           .ends = {sim.id(0), sim.id(1)},
                           .from_rank = 2,
                           .to_rank = 3,
                           .stage = stage,
                           .step = ++step,
                           .rate = {rate * (i % 2 == 0 ? 0.95 : 1.05)}},
                          sim.now);
        }
    }
    bool wants_survey() const { return sim.core.due() <= sim.now.mono; }

    static constexpr MonoTime kNever{std::numeric_limits<std::int64_t>::max()};
    SimulatedSurvey sim;
    std::int64_t step = 0;
    int stage = 0;
};

TEST(Hops, ThatAreSteadyAreNoReason) {
    Training training;
    training.train(100, 0.3);
    training.train(9, 0.1);  // a while
    training.train(19, 0.3);
    training.train(100, 0.24);
    EXPECT_FALSE(training.wants_survey());
}

TEST(Hops, ThatBecomeSlowAreAReasonToMeasureAndNoAlarm) {
    Training training;
    training.train(20, 0.3);
    training.train(20, 0.12);
    ASSERT_TRUE(training.wants_survey());
    const auto survey = training.sim.run(Seconds{600});
    ASSERT_TRUE(survey);
    EXPECT_EQ(survey->reason, "ring hops from n0 to n1 are 0.4 of what they were");
    EXPECT_TRUE(training.sim.drifts.empty());
}

TEST(Hops, AreNoReasonAgainForTenMinutes) {
    Training training;
    training.train(20, 0.3);
    training.train(20, 0.12);
    ASSERT_TRUE(training.sim.run(Seconds{600}));
    training.train(600, 0.12);
    EXPECT_FALSE(training.wants_survey()) << "five minutes";
    training.train(700, 0.12);
    EXPECT_TRUE(training.wants_survey()) << "it is still so";
}

TEST(Hops, AreNoReasonWhereSurveysAreOnRequest) {
    Training training({.automatic = false});
    training.train(20, 0.3);
    training.train(100, 0.03);
    EXPECT_FALSE(training.wants_survey());
}

TEST(Hops, OfAnotherAttemptOrStageAreMeasuredAgainstTheirOwnBeginning) {
    Training training;
    training.train(40, 0.3);
    training.train(40, 0.1, {2});
    EXPECT_FALSE(training.wants_survey());
    training.stage = 1;
    training.train(40, 0.03, {2});
    EXPECT_FALSE(training.wants_survey());
    training.train(20, 0.01, {2});
    EXPECT_TRUE(training.wants_survey());
}

TEST(Hops, ThatAreSaidAgainCountOnce) {
    Training training;
    training.train(39, 0.3);
    training.step = 20;
    training.train(19, 0.03);
    EXPECT_FALSE(training.wants_survey());
    training.train(1, 0.03);
    training.step = 20;
    training.train(20, 0.03);
    EXPECT_FALSE(training.wants_survey());
}

TEST(Hops, WhileProbesRunSayNothing) {
    Training training;
    training.train(20, 0.3);
    ASSERT_TRUE(training.sim.core.request("request", training.sim.now));
    EXPECT_FALSE(training.sim.core.tick(training.sim.now).commands.empty());
    training.train(100, 0.03);
    EXPECT_FALSE(training.sim.core.progress().pending);
}

TEST(Hops, OfAttemptsThatHaveEndedAreForgotten) {
    Training training;
    training.train(20, 0.3);
    training.sim.core.set_live({{2}});
    training.train(30, 0.03);
    EXPECT_FALSE(training.wants_survey());
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
