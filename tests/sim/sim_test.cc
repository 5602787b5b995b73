#include <gtest/gtest.h>

#include "tests/sim/cluster.h"

namespace rm::sim {
namespace {

constexpr std::uint64_t kAllSeeds = 500;
#ifdef RM_FEW_SEEDS
constexpr std::uint64_t kSeeds = 20;
#else
constexpr std::uint64_t kSeeds = kAllSeeds;
#endif

// Events that the seeds together must reach; otherwise they prove little.
const std::vector<std::string> kReached = {
    "job succeeded",        "job failed",       "job cancelled",        "attempt succeeded",
    "attempt lost",         "class rank",       "class launch",         "class device_fault",
    "class out_of_memory",  "job.queued_again", "job.devices_excluded", "attempt.drained",
    "node.unreachable",     "node.gone",        "cluster.restored",     "attempt.link_degraded",
    "attempt.link_restored"};

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> loaded = load_scenarios(RM_SCENARIOS).value();
    return loaded;
}

const Scenario& scenario(const std::string& name) {
    for (const Scenario& candidate : scenarios()) {
        if (candidate.name == name) return candidate;
    }
    RM_CHECK(false, "there is no scenario '{}'", name);
    return scenarios().front();
}

TEST(Simulation, KeepsEveryPromiseUnderEveryFault) {
    const Campaign campaign = run_seeds(scenarios(), 1, kSeeds);
    for (const Verdict& failure : campaign.failures)
        ADD_FAILURE() << to_string(failure);
    if (kSeeds < kAllSeeds) return;
    for (const std::string& thing : kReached)
        EXPECT_TRUE(campaign.counts.contains(thing)) << "no seed reaches: " << thing;
}

TEST(Simulation, IsTheSameEventForEventWithTheSameSeed) {
    const Verdict once = run_seed(scenario("everything"), 7, Plant::none, Tracing::on);
    const Verdict again = run_seed(scenario("everything"), 7, Plant::none, Tracing::on);
    const Verdict other = run_seed(scenario("everything"), 8, Plant::none, Tracing::on);
    EXPECT_EQ(once, again);
    EXPECT_NE(once.hash, other.hash);
    EXPECT_GT(once.num_events, 1000U);
}

TEST(Simulation, RefusesAFaultItDoesNotKnow) {
    const auto scenario = load_scenario(RM_BAD_SCENARIO);
    ASSERT_FALSE(scenario);
    EXPECT_NE(scenario.error().message.find("there is no fault 'earthquake'"), std::string::npos)
        << scenario.error().message;
}

// The simulation finds each planted bug within a thousand seeds.
class Planted : public testing::TestWithParam<std::string> {};

TEST_P(Planted, IsFound) {
    const Plant plant = *parse_plant(GetParam());
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const Verdict verdict = run_seed(scenario("everything"), seed, plant);
        if (verdict.failure.empty()) continue;
        EXPECT_EQ(run_seed(scenario("everything"), seed).failure, "") << "it is the plant's doing";
        RecordProperty("seeds", static_cast<int>(seed));
        std::cout << GetParam() << " needs " << seed << " seeds: " << verdict.failure << '\n';
        return;
    }
    ADD_FAILURE() << "a thousand seeds do not find it";
}

INSTANTIATE_TEST_SUITE_P(Simulation, Planted, testing::ValuesIn(plant_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rm::sim
