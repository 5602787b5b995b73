#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>

#include "base/clock.h"
#include "tests/e2e/support/e2e_test.h"
#include "tests/lab/lab.h"

// Real workers on hosts of a lab measure links of known rates. The controller and the command line
// are reached by a Unix socket, which no namespace concerns.
namespace rm::lab {
namespace {

using e2e::Finished;
using e2e::Json;
using e2e::Process;

constexpr std::string_view kOneRack = "racks:\n  - {name: left, hosts: [n0, n1, n2]}\n";
constexpr std::string_view kTwoRacks =
    "racks:\n"
    "  - {name: left, hosts: [n0, n1, n2]}\n"
    "  - {name: right, hosts: [n3, n4, n5]}\n"
    "cables:\n"
    "  - {between: [left, right], rate: 50}\n"
    "slow: {n5: 100}\n";

class SurveyedLab : public e2e::E2eTest {
protected:
    void SetUp() override {
        if (!why_no_namespaces().empty()) GTEST_SKIP() << why_no_namespaces();
    }
    void start_all(std::string_view topology) {
        lab_ = std::make_unique<Lab>(parse_topology(topology, "lab.yaml").value());
        controller_ = start({program("ringmaster-controller"), "--state", path("controller"),
                             "--listen", socket(), "--http", "none", "--survey", "manual"});
        // From the racks in turn, so that the order of registration is a bad one.
        std::vector<Host> hosts = lab_->topology().hosts;
        std::stable_sort(hosts.begin(), hosts.end(), [](const Host& a, const Host& b) {
            return a.name.back() % 3 < b.name.back() % 3;
        });
        for (const Host& host : hosts) {
            start_worker(host.name);
            const std::size_t wanted = workers_.size() * std::string("n0\n").size();
            const auto joined = [&] { return there({"nodes", "-o", "name"}).out.size() == wanted; };
            ASSERT_TRUE(e2e::wait_until(Seconds{30}, joined)) << there({"nodes"}).out;
        }
    }
    ~SurveyedLab() override {
        for (const auto& worker : workers_)
            worker->signal(SIGTERM);
        for (const auto& worker : workers_)
            EXPECT_EQ(worker->wait(Seconds{20}), 0) << worker->err();
        if (!controller_) return;
        controller_->signal(SIGTERM);
        EXPECT_EQ(controller_->wait(Seconds{20}), 0) << controller_->err();
    }

    std::string socket() const { return "unix:" + path("controller.sock"); }
    // Named after its host.
    void start_worker(const std::string& host) {
        std::filesystem::create_directory(path(host));
        std::filesystem::permissions(path(host), std::filesystem::perms::owner_all);
        e2e::write_file(path(host + "/identity.json"),
                        Json{{"node_id", host}, {"cluster_id", ""}, {"highest_epoch", 0}}.dump());
        workers_.push_back(start(lab_->inside(
            host, {program("ringmaster-worker"), "--state", path(host), "--controller", socket(),
                   "--http", "none", "--data-address", lab_->address(host)})));
    }
    Finished there(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--address", socket()});
        return cli(std::move(arguments), Seconds{120});
    }
    // Measures everything; the link file, and what is degraded in `degraded_`.
    Json survey() {
        const Finished done = there({"survey", "--wait"});
        EXPECT_EQ(done.code, 0) << done.err;
        const std::string matrix = there({"links", "--matrix"}).out;
        std::cout << there({"links"}).out << matrix << there({"links", "n0", "n1"}).out;
        degraded_ = degraded_in(matrix);
        return Json::parse(there({"links", "-o", "json"}).out);
    }
    // "n0 to n1" of each of its lines.
    static std::set<std::string> degraded_in(const std::string& text) {
        const std::string word = "degraded  ";
        std::set<std::string> found;
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
            at += word.size();
            found.insert(text.substr(at, text.find(':', at) - at));
        }
        return found;
    }
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
    // Nodes are numbered as they join.
    static std::set<std::string> ends_of(const Json& trunk, const char* side) {
        const Json& names = trunk.at(side);
        return {names.begin(), names.end()};
    }
    std::int64_t step_of(const std::string& job) {
        const Json shown = Json::parse(there({"show", job, "-o", "json"}).out);
        if (!shown.contains("lastStep")) return 0;
        return std::stoll(shown.at("lastStep").at("step").get<std::string>());
    }
    // Trains a ring of this many to its end; where its ranks were, by rank.
    std::vector<std::string> hosts_of_ring(int size) {
        const std::string file = write_job(
            {.stages = "  - {context: 768, batch: 768, tokens: 7680, learning_rate: 1e-3}\n",
             .parallel = format("{{ring: {}}}", size)});
        const Finished run = there({"submit", file, "--follow"});
        EXPECT_EQ(run.code, 0) << run.err;
        const Json job = Json::parse(there({"show", run.out.substr(0, 6), "-o", "json"}).out);
        std::vector<std::string> hosts;
        for (const Json& place : job.at("attempts").at(0).at("placement"))
            hosts.push_back(place.at("nodeId"));
        return hosts;
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

    std::unique_ptr<Lab> lab_;
    std::unique_ptr<Process> controller_;
    std::vector<std::unique_ptr<Process>> workers_;
    std::set<std::string> degraded_;
};

TEST_F(SurveyedLab, EveryShapedRateIsFoundAndSoIsTheCableAndRingsArePlacedByThem) {
    start_all(kTwoRacks);
    const Json links = survey();
    const auto& hosts = lab_->topology().hosts;
    for (std::size_t a = 0; a < hosts.size(); ++a) {
        for (std::size_t b = 0; b < hosts.size(); ++b) {
            if (a == b) continue;
            SCOPED_TRACE(hosts[a].name + " to " + hosts[b].name);
            EXPECT_NEAR(mbit(links, hosts[a].name, hosts[b].name), shaped(a, b),
                        0.15 * shaped(a, b));
            EXPECT_NEAR(mbit(links, hosts[a].name, hosts[b].name, "flow_gbit_per_s"), shaped(a, b),
                        0.15 * shaped(a, b))
                << "of one flow";
        }
    }
    ASSERT_EQ(links.at("trunks").size(), 2u) << links.dump(1);
    const std::set<std::string> left = {"n0", "n1", "n2"};
    for (const Json& trunk : links.at("trunks")) {
        EXPECT_NEAR(trunk.at("gbit_per_s").get<double>() * 1000, 50, 7.5);
        EXPECT_NE(ends_of(trunk, "from") == left, ends_of(trunk, "to") == left);
        EXPECT_EQ(ends_of(trunk, "from").size(), 3u);
    }

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

TEST_F(SurveyedLab, ADegradedHostIsNamedAndForgivenWhenItIsFastAgain) {
    start_all(kOneRack);
    survey();
    EXPECT_TRUE(degraded_.empty());
    lab_->set_host_rate("n1", {150});
    survey();
    EXPECT_EQ(degraded_, (std::set<std::string>{"n0 to n1", "n1 to n0", "n1 to n2", "n2 to n1"}));
    lab_->set_host_rate("n1", kFastest);
    survey();
    EXPECT_TRUE(degraded_.empty());
}

// Not a test of the suite, as it takes minutes and an otherwise idle machine (docs/benchmarks):
// steps per second of a training that waits for its links, before, during and after a survey.
TEST_F(SurveyedLab, DISABLED_WhatASurveyCostsATraining) {
    start_all(
        "racks:\n  - {name: left, hosts: [n0, n1, n2]}\n"
        "slow: {n0: 50, n1: 50, n2: 50}\n");
    const std::string file = write_job(
        {.stages = "  - {context: 768, batch: 768, tokens: 768000000, learning_rate: 1e-3}\n",
         .parallel = "{ring: 3}"});
    const std::string job = there({"submit", file}).out.substr(0, 6);
    ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] { return step_of(job) > 20; }));
    const double before = steps_per_second(job, [] { e2e::sleep(Seconds{60}); });
    const double during = steps_per_second(job, [&] {
        EXPECT_EQ(cli({"--address", socket(), "survey", "--wait"}, Seconds{600}).code, 0);
    });
    const double after = steps_per_second(job, [] { e2e::sleep(Seconds{60}); });
    const double usual = (before + after) / 2;
    std::cout << format("steps/s before {}, during the survey {}, after {}: {} % slower\n", before,
                        during, after, 100 * (1 - during / usual));
    there({"cancel", "--now", job});
}

}  // namespace
}  // namespace rm::lab
