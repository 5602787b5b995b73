#include "controller/survey/infer.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/controller/survey/planted.h"

namespace rm::test {
namespace {

TEST(Tournament, LetsEveryPairMeetOnceInRoundsOfDisjointPairs) {
    for (int nodes = 0; nodes <= 41; ++nodes) {
        SCOPED_TRACE(nodes);
        const std::vector<Round> rounds = tournament(nodes);
        EXPECT_EQ(rounds.size(), nodes < 2 ? 0u : static_cast<std::size_t>(nodes - 1 + nodes % 2));
        std::set<NodePair> met;
        for (const Round& round : rounds) {
            std::set<int> busy;
            for (const auto& [a, b] : round) {
                EXPECT_LT(a, b);
                EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
                EXPECT_TRUE(met.insert({a, b}).second);
            }
        }
        EXPECT_EQ(met.size(), static_cast<std::size_t>(nodes * (nodes - 1) / 2));
    }
}

TEST(Tournament, IsSampledEvenly) {
    EXPECT_EQ(sampled(tournament(100), 32).size(), 32u);
    EXPECT_EQ(sampled(tournament(6), 32), tournament(6));
}

void expect_recovered(const PlantedNetwork& planted, const InferredNetwork& found) {
    for (int a = 0; a < planted.size(); ++a) {
        for (int b = 0; b < planted.size(); ++b) {
            if (a == b) continue;
            const double wanted = planted.alone(a, b);
            const double rate =
                found.rate[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
            EXPECT_NEAR(rate, wanted, 0.15 * wanted) << a << " to " << b;
        }
    }
}

void expect_racks(const PlantedNetwork& planted, const InferredNetwork& found) {
    for (std::size_t a = 0; a < planted.rack_of.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            EXPECT_EQ(found.group[a] == found.group[b], planted.rack_of[a] == planted.rack_of[b])
                << a << " and " << b;
        }
    }
}

TEST(InferredNetwork, FindsTwoRacksTheirCableAndASlowNodeWithoutMeasuringAnyPairAlone) {
    const auto planted = PlantedNetwork::of({{{0.4, 0.4, 0.4}, 0.05}, {{0.4, 0.4, 0.1}, 0.05}});
    const auto found = infer_network(6, planted.tournament_episodes(0.05, 1));
    expect_racks(planted, found);
    expect_recovered(planted, found);
    ASSERT_EQ(found.uplinks.size(), 2u);
    for (const GroupUplink& uplink : found.uplinks) {
        EXPECT_NEAR(uplink.up, 0.05, 0.0075);
        EXPECT_NEAR(uplink.down, 0.05, 0.0075);
    }
    EXPECT_NEAR(found.out[5], 0.1, 0.015);
    EXPECT_NEAR(found.in[0], 0.4, 0.06);
}

TEST(InferredNetwork, FindsAnUplinkThatOnlySlowsManyFlowsAtOnce) {
    const std::vector<double> eight(8, 10.0);
    const auto planted = PlantedNetwork::of({{eight, 25}, {eight, 25}});
    const auto found = infer_network(16, planted.tournament_episodes(0.03, 2));
    expect_racks(planted, found);
    expect_recovered(planted, found);
    ASSERT_EQ(found.uplinks.size(), 2u);
    EXPECT_NEAR(found.uplinks[0].up, 25, 25 * 0.15);
    EXPECT_NEAR(found.uplinks[1].down, 25, 25 * 0.15);
}

TEST(InferredNetwork, OfAFlatNetworkIsOneGroupWithoutUplinks) {
    const auto planted = PlantedNetwork::of({{std::vector<double>(9, 17.5), 0}});
    const auto found = infer_network(9, planted.tournament_episodes(0.05, 3));
    expect_racks(planted, found);
    expect_recovered(planted, found);
    EXPECT_EQ(found.uplinks.at(0).up, 0);
    EXPECT_TRUE(worth_measuring_alone(found, planted.tournament_episodes(0.05, 3)).empty());
}

TEST(InferredNetwork, RecoversRandomRacksOnceTheirRepresentativesRanAlone) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        std::vector<PlantedRack> racks(2 + rng.below(3));
        for (PlantedRack& rack : racks) {
            const double fast = 10 * (1 + rng.uniform());
            rack.nodes.assign(3 + rng.below(5), fast);
            if (rng.below(3) == 0) rack.nodes[0] = fast / 2;
            rack.uplink = fast / 2 * (0.2 + 0.5 * rng.uniform());
        }
        const auto planted = PlantedNetwork::of(racks);
        auto episodes = planted.tournament_episodes(0.04, seed);
        const auto first = infer_network(planted.size(), episodes);
        expect_racks(planted, first);
        for (const auto& [from, to] : worth_measuring_alone(first, episodes))
            episodes.push_back({{from, to, planted.alone(from, to)}});
        const auto found = infer_network(planted.size(), episodes);
        expect_racks(planted, found);
        expect_recovered(planted, found);
    }
}

TEST(InferredNetwork, PrefersWhatRanAloneToTheModel) {
    const auto planted = PlantedNetwork::of({{{0.4, 0.4}, 0.05}, {{0.4, 0.4}, 0.05}});
    auto episodes = planted.tournament_episodes(0, 4);
    episodes.push_back({{0, 2, 0.02}});
    EXPECT_EQ(infer_network(4, episodes).rate[0][2], 0.02);
}

TEST(WorthMeasuringAlone, AreTheUnexplainedAndTwoForEveryPairOfGroups) {
    const auto planted = PlantedNetwork::of({{{0.4, 0.4, 0.4}, 0.05}, {{0.4, 0.4, 0.4}, 0.05}});
    auto episodes = planted.tournament_episodes(0, 5);
    for (Episode& episode : episodes) {
        for (MeasuredFlow& flow : episode) {
            if (flow.from == 0 && flow.to == 1) flow.rate = 0.2;
        }
    }
    const auto found = infer_network(6, episodes);
    const auto pairs = worth_measuring_alone(found, episodes);
    ASSERT_EQ(pairs.size(), 5u);
    EXPECT_EQ(pairs[0], (NodePair{0, 1})) << "nothing explains it";
    int there = 0;
    for (std::size_t i = 1; i < pairs.size(); ++i) {
        EXPECT_NE(pairs[i].first < 3, pairs[i].second < 3) << "between the racks";
        there += pairs[i].first < 3 ? 1 : 0;
    }
    EXPECT_EQ(there, 2);
}

}  // namespace
}  // namespace rm::test
