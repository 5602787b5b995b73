#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>

#include "base/clock.h"
#include "cli/input/links_file.h"
#include "planner/placement/problem.h"
#include "tests/e2e/support/connections.h"
#include "tests/lab/surveyed_lab.h"

namespace rm::lab {
namespace {

class Survey : public SurveyedLab {
protected:
    static double mbit(const Json& file, const std::string& from, const std::string& to,
                       const char* what = "gbit_per_s") {
        const Json& nodes = file.at("nodes");
        const auto row = [&](const std::string& id) {
            return static_cast<std::size_t>(
                std::find_if(nodes.begin(), nodes.end(),
                             [&](const Json& node) { return node.at("id") == id; }) -
                nodes.begin());
        };
        return file.at("network").at("matrix").at(what).at(row(from)).at(row(to)).get<double>() *
               1000;
    }
    std::set<std::string> all_links() const {
        std::set<std::string> links;
        for (const Host& from : lab_->topology().hosts) {
            for (const Host& to : lab_->topology().hosts)
                if (from.name != to.name) links.insert(from.name + " to " + to.name);
        }
        return links;
    }
    // Removes the links whose rate, in all and of one flow, is within 15 % of the shaped one.
    // Nothing makes a link faster than it is shaped.
    void remove_found(const Json& links, std::set<std::string>& missing) const {
        const auto& hosts = lab_->topology().hosts;
        for (std::size_t a = 0; a < hosts.size(); ++a) {
            for (std::size_t b = 0; b < hosts.size(); ++b) {
                if (a == b) continue;
                const std::string link = hosts[a].name + " to " + hosts[b].name;
                const double rate = mbit(links, hosts[a].name, hosts[b].name);
                const double flow = mbit(links, hosts[a].name, hosts[b].name, "flow_gbit_per_s");
                EXPECT_LT(std::max(rate, flow), 1.15 * shaped(a, b)) << link;
                if (std::min(rate, flow) > 0.85 * shaped(a, b)) missing.erase(link);
            }
        }
    }
    static std::set<std::string> ends_of(const Json& trunk, const char* side) {
        const Json& names = trunk.at(side);
        return {names.begin(), names.end()};
    }
    // Trains a ring of this many to its end; returns the host of each rank.
    std::vector<std::string> hosts_of_ring(int size) {
        const std::string job = run_to_end(
            {.stages = "  - {context: 768, batch: 768, tokens: 7680, learning_rate: 1e-3}\n",
             .parallel = format("{{ring: {}}}", size)});
        std::map<std::string, std::string> addresses;
        for (const Host& host : lab_->topology().hosts)
            addresses[host.name] = lab_->address(host.name);
        e2e::expect_ring_as_placed([&] { return show(job); }, addresses);
        return hosts_of(job);
    }
    double steps_per_second(const std::string& job, const std::function<void()>& meanwhile) {
        const SystemClock clock;
        const MonoTime start = clock.mono();
        const std::int64_t first = step_of(job);
        meanwhile();
        return static_cast<double>(step_of(job) - first) / (clock.mono() - start).value;
    }
    double shaped(std::size_t from, std::size_t to) const {
        const Topology& topology = lab_->topology();
        const Host& a = topology.hosts[from];
        const Host& b = topology.hosts[to];
        const double ends = std::min(a.rate.value, b.rate.value);
        return a.rack == b.rack ? ends : std::min(ends, topology.cables[0].rate.value);
    }
};

// Brute force: costs every order of the hosts separately.
double least_cost(const LinkGraph& graph, const StepTraffic& traffic) {
    const Routes routes(graph);
    const Mesh mesh = Mesh::make(1, graph.num_nodes(), 1, 1).value();
    std::vector<int> hosts(static_cast<std::size_t>(graph.num_nodes()));
    std::iota(hosts.begin(), hosts.end(), 0);
    double least = 1e300;
    do {
        std::vector<Endpoint> placement;
        for (const int host : hosts)
            placement.push_back({host, 0});
        least = std::min(least, placement_cost(routes, mesh, traffic, placement).total.value);
    } while (std::next_permutation(hosts.begin(), hosts.end()));
    return least;
}

TEST_F(Survey, EveryShapedRateIsFoundAndSoIsTheCableAndRingsArePlacedByThem) {
    start_all(kTwoRacks);
    Json links;
    std::set<std::string> missing = all_links();
    const int surveys = surveys_until([&](const Json& measured) {
        links = measured;
        remove_found(links, missing);
        return missing.empty();
    });
    EXPECT_GT(surveys, 0) << "never found: " << Json(missing);
    ASSERT_EQ(links.at("trunks").size(), 2u) << links.dump(1);
    const std::set<std::string> left = {"n0", "n1", "n2"};
    for (const Json& trunk : links.at("trunks")) {
        EXPECT_NEAR(trunk.at("gbit_per_s").get<double>() * 1000, 50, 7.5);
        EXPECT_NE(ends_of(trunk, "from") == left, ends_of(trunk, "to") == left);
        EXPECT_EQ(ends_of(trunk, "from").size(), 3u);
    }

    e2e::write_file(path("links.json"), links.dump());
    const Finished answer = cli({"place", "--links", path("links.json"), "--mesh", "ring=6",
                                 "--bytes", "ring=2MiB:20,data=1MiB:10", "-o", "json"});
    ASSERT_EQ(answer.code, 0) << answer.err;
    EXPECT_DOUBLE_EQ(Json::parse(answer.out).at("predicted").at("seconds").get<double>(),
                     least_cost(parse_links(links.dump()).value(),
                                {{Axis::ring, Pattern::ring, Bytes{2 << 20}, 20},
                                 {Axis::data, Pattern::ring, Bytes{1 << 20}, 10}}));

    // Jobs go where the links are good: a ring of all crosses the cable once each way, and one of
    // three keeps away from it and from the slow host.
    const std::vector<std::string> all = hosts_of_ring(6);
    ASSERT_EQ(all.size(), 6u);
    int crossings = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        crossings += left.contains(all[i]) != left.contains(all[(i + 1) % all.size()]);
    EXPECT_EQ(crossings, 2) << Json(all);
    const std::vector<std::string> three = hosts_of_ring(3);
    EXPECT_EQ(std::set<std::string>(three.begin(), three.end()), left);
}

TEST_F(Survey, ADegradedHostIsNamedAndForgivenWhenItIsFastAgain) {
    start_all(kOneRack);
    survey();
    EXPECT_TRUE(degraded_.empty());
    lab_->set_host_rate("n1", {150});
    const std::set<std::string> slow = {"n0 to n1", "n1 to n0", "n1 to n2", "n2 to n1"};
    EXPECT_GT(surveys_until([&](const Json&) { return degraded_ == slow; }), 0) << Json(degraded_);
    lab_->set_host_rate("n1", kFastest);
    EXPECT_GT(surveys_until([&](const Json&) { return degraded_.empty(); }), 0) << Json(degraded_);
}

// Not a test of the suite, as it takes minutes and an otherwise idle machine (docs/benchmarks):
// steps per second of a training that waits for its links, before, during and after a survey.
TEST_F(Survey, DISABLED_WhatASurveyCostsATraining) {
    start_all(
        "racks:\n  - {name: left, hosts: [n0, n1, n2]}\n"
        "slow: {n0: 50, n1: 50, n2: 50}\n");
    const std::string job = submit(
        {.stages = "  - {context: 768, batch: 768, tokens: 768000000, learning_rate: 1e-3}\n",
         .parallel = "{ring: 3}"});
    ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] { return step_of(job) > 20; }));
    const double before = steps_per_second(job, [] { e2e::sleep(Seconds{60}); });
    const double during = steps_per_second(job, [&] {
        EXPECT_EQ(there({"survey", "--wait"}).code, 0);
    });
    const double after = steps_per_second(job, [] { e2e::sleep(Seconds{60}); });
    const double usual = (before + after) / 2;
    std::cout << format("steps/s before {}, during the survey {}, after {}: {} % slower\n", before,
                        during, after, 100 * (1 - during / usual));
    there({"cancel", "--now", job});
}

}  // namespace
}  // namespace rm::lab
