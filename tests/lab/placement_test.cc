#include <algorithm>
#include <iostream>

#include "base/median.h"
#include "base/random.h"
#include "tests/lab/surveyed_lab.h"

// The effect of placing ranks by measured links on real trainings over gloo.
namespace rm::lab {
namespace {

constexpr std::uint64_t kSeed = 20261122;
constexpr int kSteps = 6;
constexpr int kContext = 3072;

class PlacedLab : public SurveyedLab {
protected:
    static JobText ring_job(int size, int steps, const Order& order = {}) {
        return {
            .stages = format("  - {{context: {}, batch: {}, tokens: {}, learning_rate: 1e-3}}\n",
                             kContext, kContext, kContext * steps),
            .parallel = format("{{ring: {}}}", size),
            .extra = order.empty()
                         ? ""
                         : format("resources: {{placement: [{}]}}\n", joined(order, ", "))};
    }
    double step_time(const Order& order) {
        const std::string job = run_to_end(ring_job(6, kSteps, order));
        EXPECT_EQ(hosts_of(job), order);
        return SurveyedLab::step_time(job, kSteps, kContext);
    }
};

// A host becomes slow during a training: surveys name its links and no other, the next attempt uses
// good links, and once the host is fast again surveys clear the alarm.
TEST_F(PlacedLab, AnAttemptAfterALinkDegradedAvoidsIt) {
    start_all("racks:\n  - {name: room, rate: 200, hosts: [n0, n1, n2, n3, n4]}\n",
              {.controller = {"--survey-budget", "90%"}});
    survey();
    EXPECT_TRUE(degraded_.empty());
    const std::string job = submit(ring_job(3, 100'000));
    ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] { return step_of(job) >= 3; }));
    const Order before = hosts_of(job);
    const std::string slow = before[1];
    lab_->set_host_rate(slow, {40});
    const int surveys = surveys_until([&](const Json&) {
        const auto is_of_slow = [&](const std::string& link) {
            return link.find(slow) != std::string::npos;
        };
        return !degraded_.empty() && std::all_of(degraded_.begin(), degraded_.end(), is_of_slow);
    });
    EXPECT_GT(surveys, 0) << Json(degraded_);
    std::cout << format(
        "    {} fell to 40 Mbit/s under ranks on {}: after {} surveys degraded: {}\n", slow,
        joined(before, " "), surveys, joined({degraded_.begin(), degraded_.end()}, ", "));

    ASSERT_EQ(there({"drain", before[0], "--reason", "a new disk"}).code, 0);
    ASSERT_TRUE(e2e::wait_until(Seconds{60}, [&] { return show(job).at("attempts").size() == 2; }))
        << show(job).dump(1);
    const Order after = hosts_of(job, 1);
    std::cout << format("    the next attempt is on {}\n", joined(after, " "));
    EXPECT_EQ(std::count(after.begin(), after.end(), slow), 0) << joined(after, " ");
    EXPECT_EQ(std::count(after.begin(), after.end(), before[0]), 0) << joined(after, " ");

    lab_->set_host_rate(slow, {200});
    EXPECT_GT(surveys_until([&](const Json&) { return degraded_.empty(); }), 0) << Json(degraded_);
    there({"cancel", "--now", job});
}

struct Timed {
    std::string name;
    Order order;
    int crossings = 0;  // of the cable, each way
    std::vector<double> seconds;
    double typical() const { return median(seconds); }
};

// Not a test of the suite, as it takes a quarter of an hour and a calm machine
// (docs/benchmarks/lab-2026-11.md): steps of a training that waits for its links, in Ringmaster's
// order, both baselines and random ones, in turn.
TEST_F(PlacedLab, DISABLED_StepTimesOfOrders) {
    constexpr int kRuns = 7;
    start_all(kTwoRacks);
    survey();
    const Order ours = hosts_of(run_to_end(ring_job(6, kSteps)));
    Order by_node = registered_;
    std::sort(by_node.begin(), by_node.end());
    std::vector<Timed> all = {{"Ringmaster's", ours, 0, {}},
                              {"registration", registered_, 0, {}},
                              {"node", by_node, 0, {}}};
    Rng rng(kSeed);
    for (int i = 1; i <= 10; ++i) {
        Order order = by_node;
        for (std::size_t at = order.size() - 1; at > 0; --at)
            std::swap(order[at], order[rng.below(at + 1)]);
        all.push_back({format("random {}", i), order, 0, {}});
    }
    const std::set<std::string> left = {"n0", "n1", "n2"};
    for (Timed& timed : all) {
        for (std::size_t i = 0; i < timed.order.size(); ++i)
            timed.crossings += left.contains(timed.order[i]) &&
                               !left.contains(timed.order[(i + 1) % timed.order.size()]);
    }
    for (int run = 0; run < kRuns; ++run) {
        for (Timed& timed : all)
            timed.seconds.push_back(step_time(timed.order));
        std::cout << format("run {} of {}\n", run + 1, kRuns) << std::flush;
    }
    double mean = 0;
    std::cout << format("seed {}\n| order | ranks 0 to 5 on | crossings | s/step | x |\n", kSeed);
    for (const Timed& timed : all) {
        if (timed.name.starts_with("random")) mean += timed.typical() / 10;
        std::cout << format("| {} | {} | {} | {:.3} | {:.2} |\n", timed.name,
                            joined(timed.order, " "), timed.crossings, timed.typical(),
                            timed.typical() / all[0].typical());
    }
    std::cout << format("| mean of the random ones | | | {:.3} | {:.2} |\n", mean,
                        mean / all[0].typical());
    EXPECT_GE(mean, 1.5 * all[0].typical());
    EXPECT_LE(all[0].typical(), 1.03 * all[1].typical());
    EXPECT_LE(all[0].typical(), 1.03 * all[2].typical());
}

}  // namespace
}  // namespace rm::lab
