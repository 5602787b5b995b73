#include "topology/transfers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"
#include "tests/support/some_cases.h"

namespace rm {
namespace {

constexpr std::int64_t kGbit = 125'000'000;  // bytes

// Four nodes of one device, 8 Gbit/s each way, so that a Gbit takes an eighth of a second.
LinkGraph four_nodes() {
    return uniform_graph({{"a"}, {"b"}, {"c"}, {"d"}}, 1, {{8}, {}, {}}, {{80}, {}, {}});
}

Transfer transfer(int from, int to, std::int64_t bytes = kGbit) {
    return {{from, 0}, {to, 0}, {bytes}};
}

double total(const LinkGraph& graph, const std::vector<Transfer>& transfers) {
    return transfer_times(Routes(graph), transfers).total.value;
}

TEST(Transfers, AloneTakeBytesOverBandwidthAndLatency) {
    LinkGraph graph = four_nodes();
    graph.between(0, 1).latency = {0.5};
    EXPECT_DOUBLE_EQ(total(graph, {transfer(0, 1)}), 0.125 + 0.5);
    EXPECT_DOUBLE_EQ(total(graph, {transfer(1, 1)}), 0) << "a device has what it has";
    EXPECT_DOUBLE_EQ(total(graph, {}), 0);
}

TEST(Transfers, ShareANicInEachDirectionOnItsOwn) {
    LinkGraph graph = four_nodes();
    graph.nodes[0].egress = {8};
    graph.nodes[0].ingress = {4};
    EXPECT_DOUBLE_EQ(total(graph, {transfer(0, 1), transfer(0, 2)}), 0.25);
    EXPECT_DOUBLE_EQ(total(graph, {transfer(0, 1), transfer(2, 0)}), 0.25);
    EXPECT_DOUBLE_EQ(total(graph, {transfer(1, 2), transfer(3, 2)}), 0.125) << "no limit there";
}

TEST(Transfers, ShareTheCableBetweenRacks) {
    LinkGraph graph = four_nodes();
    graph.trunks.push_back({"a to b", {0, 1}, {}, {8}});
    graph.trunks.push_back({"b to a", {2, 3}, {}, {8}});
    EXPECT_DOUBLE_EQ(total(graph, {transfer(0, 2), transfer(1, 3)}), 0.25);
    EXPECT_DOUBLE_EQ(total(graph, {transfer(0, 1), transfer(2, 3)}), 0.125);
    // The ring a c b d crosses twice each way, a b c d once.
    EXPECT_DOUBLE_EQ(total(graph, {transfer(0, 2), transfer(2, 1), transfer(1, 3), transfer(3, 0)}),
                     0.25);
    EXPECT_DOUBLE_EQ(total(graph, {transfer(0, 1), transfer(1, 2), transfer(2, 3), transfer(3, 0)}),
                     0.125);
}

TEST(Transfers, ShareAHostBridgeUnlessTheyStayBelowIt) {
    LinkGraph graph = uniform_graph({{"a"}, {"b"}}, 4, {{8}, {}, {}}, {{8}, {}, {}});
    graph.interiors[0].bridges = {{"p0", {0, 1}, {8}, {4}}, {"p1", {2, 3}, {8}, {8}}};
    const auto inside = [](int from, int to) { return Transfer{{0, from}, {0, to}, {kGbit}}; };
    EXPECT_DOUBLE_EQ(total(graph, {inside(0, 1), inside(1, 0)}), 0.125);
    EXPECT_DOUBLE_EQ(total(graph, {inside(0, 2), inside(1, 3)}), 0.25);
    EXPECT_DOUBLE_EQ(total(graph, {inside(2, 0)}), 0.25) << "p0 lets in half";
    EXPECT_DOUBLE_EQ(total(graph, {{{1, 0}, {0, 2}, {kGbit}}, {{1, 1}, {0, 0}, {kGbit}}}), 0.25);
}

TEST(Transfers, OneOfManyStaysBelowTheFlowLimit) {
    LinkGraph graph = uniform_graph({{"a"}, {"b"}}, 2, {{8}, {2}, {}}, {{8}, {}, {}});
    const Transfer first = {{0, 0}, {1, 0}, {kGbit}};
    const Transfer second = {{0, 1}, {1, 1}, {kGbit}};
    EXPECT_DOUBLE_EQ(total(graph, {first}), 0.5);
    EXPECT_DOUBLE_EQ(total(graph, {first, second}), 0.5);
}

TEST(Transfers, AFinishedOneLeavesItsShareToTheOthers) {
    LinkGraph graph = four_nodes();
    graph.nodes[0].egress = {8};
    const std::vector<Transfer> two = {transfer(0, 1, kGbit), transfer(0, 2, 3 * kGbit)};
    const TransferTimes times = transfer_times(Routes(graph), two);
    EXPECT_DOUBLE_EQ(times.finish[0].value, 0.25);
    EXPECT_DOUBLE_EQ(times.finish[1].value, 0.5);
}

TEST(Transfers, ResourcesHaveNames) {
    LinkGraph graph = uniform_graph({{"a"}, {"b"}}, 2, {{8}, {}, {}}, {{8}, {}, {}});
    graph.interiors[0].bridges = {{"p0", {0}, {8}, {8}}};
    graph.nodes[0].egress = graph.nodes[1].ingress = {8};
    graph.trunks.push_back({"cable", {0}, {}, {8}});
    const Routes routes(graph);
    const auto names = [&](Endpoint from, Endpoint to) {
        std::string text;
        routes.route(from, to).for_each([&](int r) { text += routes.name(r) + "; "; });
        return text;
    };
    EXPECT_EQ(names({0, 0}, {1, 0}),
              "egress of a; ingress of b; link a -> b; host bridge p0 of a, up; host bridge p0 of "
              "b, down; trunk cable; ");
    EXPECT_EQ(names({1, 1}, {1, 0}), "link b:1 -> b:0; host bridge p0 of b, down; ");
}

// Random graphs with everything in them: NICs, bridges, trunks, flow limits.
class RandomTransfers : public testing::TestWithParam<int> {
protected:
    GbitPerSec rate() { return {1 + static_cast<double>(rng_.below(40))}; }
    int node() { return static_cast<int>(rng_.below(6)); }

    LinkGraph random_graph() {
        LinkGraph graph = uniform_graph({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}}, 3,
                                        {{8}, {}, {}}, {{8}, {}, {}});
        for (Link& link : graph.network)
            link = {rate(), rng_.below(3) == 0 ? rate() : GbitPerSec{}, {rng_.uniform()}};
        for (Link& link : graph.interiors[0].pairs)
            link.bandwidth = rate();
        graph.interiors[0].bridges = {{"p0", {0, 2}, rate(), rate()}, {"p1", {1}, rate(), rate()}};
        for (LinkNode& node : graph.nodes) {
            if (rng_.below(2) == 0) node.egress = rate();
            if (rng_.below(2) == 0) node.ingress = rate();
        }
        graph.trunks.push_back({"up", {0, 1, 2}, {}, rate()});
        graph.trunks.push_back({"down", {}, {0, 1}, rate()});
        graph.trunks.push_back({"some", {0, 3}, {2, 4, 5}, rate()});
        return graph;
    }
    std::vector<Transfer> random_transfers(std::int64_t least, std::int64_t most) {
        std::vector<Transfer> list(1 + rng_.below(20));
        for (Transfer& t : list) {
            t.from = {node(), static_cast<int>(rng_.below(3))};
            do {
                t.to = {node(), static_cast<int>(rng_.below(3))};
            } while (t.to == t.from);
            t.bytes.value = least + static_cast<std::int64_t>(
                                        rng_.below(static_cast<std::uint64_t>(most - least + 1)));
        }
        return list;
    }

    Rng rng_{static_cast<std::uint64_t>(GetParam())};
    LinkGraph graph_ = random_graph();
    Routes routes_{graph_};
};

// A rate is max-min fair exactly if no resource carries more than it can, and every transfer is at
// its flow limit or crosses a full resource on which no other is faster.
TEST_P(RandomTransfers, AreMaxMinFair) {
    const std::vector<Transfer> transfers = random_transfers(kGbit, kGbit);
    const std::vector<double> rates = fair_rates(routes_, transfers);
    std::map<int, double> used;
    std::map<int, double> fastest;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        const Route route = routes_.route(transfers[i].from, transfers[i].to);
        EXPECT_LE(rates[i], route.flow * (1 + 1e-9));
        route.for_each([&](int r) {
            used[r] += rates[i];
            fastest[r] = std::max(fastest[r], rates[i]);
        });
    }
    for (const auto& [r, rate] : used)
        EXPECT_LE(rate * routes_.seconds_per_byte(r), 1 + 1e-9) << routes_.name(r);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        const Route route = routes_.route(transfers[i].from, transfers[i].to);
        bool bound = rates[i] >= route.flow * (1 - 1e-9);
        route.for_each([&](int r) {
            const bool full = used[r] * routes_.seconds_per_byte(r) >= 1 - 1e-9;
            bound = bound || (full && rates[i] >= fastest[r] * (1 - 1e-9));
        });
        EXPECT_TRUE(bound) << "transfer " << i << " could be faster, seed " << GetParam();
    }
}

// The longest time that any resource or flow limit needs for its traffic.
double least_time(const Routes& routes, const std::vector<Transfer>& transfers) {
    std::map<int, double> bytes;
    double least = 0;
    for (const Transfer& t : transfers) {
        const Route route = routes.route(t.from, t.to);
        least = std::max(least, static_cast<double>(t.bytes.value) / route.flow);
        route.for_each([&](int r) { bytes[r] += static_cast<double>(t.bytes.value); });
    }
    for (const auto& [r, sum] : bytes)
        least = std::max(least, sum * routes.seconds_per_byte(r));
    return least;
}

double slowest_of(const TransferTimes& times) {
    double slowest = 0;
    for (const Seconds finish : times.finish)
        slowest = std::max(slowest, finish.value);
    return slowest;
}

TEST_P(RandomTransfers, OfEqualSizeTakeWhatTheFullestResourceTakes) {
    const std::vector<Transfer> transfers = random_transfers(kGbit, kGbit);
    const double slowest = slowest_of(transfer_times(routes_, transfers));
    EXPECT_NEAR(slowest, least_time(routes_, transfers), 1e-9 * slowest) << GetParam();
}

TEST_P(RandomTransfers, TakeAtLeastWhatTheFullestResourceTakesAndAtMostTheirSum) {
    const std::vector<Transfer> transfers = random_transfers(kGbit / 10, kGbit);
    const TransferTimes times = transfer_times(routes_, transfers);
    EXPECT_GE(slowest_of(times), least_time(routes_, transfers) * (1 - 1e-9));
    double one_by_one = 0;
    double latency = 0;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        const Route route = routes_.route(transfers[i].from, transfers[i].to);
        const double alone = static_cast<double>(transfers[i].bytes.value) / routes_.alone(route);
        EXPECT_GE(times.finish[i].value, alone * (1 - 1e-9)) << "nobody is faster than alone";
        one_by_one += alone;
        latency = std::max(latency, route.latency);
    }
    EXPECT_LE(slowest_of(times), one_by_one * (1 + 1e-9));
    EXPECT_DOUBLE_EQ(times.total.value, slowest_of(times) + latency);
}

TEST_P(RandomTransfers, AreNotSlowedByOneLess) {
    std::vector<Transfer> transfers = random_transfers(kGbit, kGbit);
    const double before = slowest_of(transfer_times(routes_, transfers));
    transfers.pop_back();
    EXPECT_LE(slowest_of(transfer_times(routes_, transfers)), before * (1 + 1e-9));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTransfers, testing::Range(0, test::kSanitized ? 50 : 200));

}  // namespace
}  // namespace rm
