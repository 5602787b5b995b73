#include "planner/search/extremes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/search/planned_jobs.h"

namespace rm::test {
namespace {

constexpr std::int64_t kKi = 1024;

struct Extremes : testing::Test {
    FleetSpec fleet = published_fleet("L40S", 8).value();
    ModelConfig model = find_preset("llama3-8b").value();

    SearchQuestion question(const JobSpec& spec, int devices = 8) const {
        return {spec, model, fleet, devices};
    }
};

TEST_F(Extremes, AnotherContextKeepsSequencesAndSteps) {
    JobSpec spec = long_job(64 * kKi, 4);
    spec.stages.insert(spec.stages.begin(), spec.stages[0]);
    spec.stages[0].context = spec.stages[0].batch = 8 * kKi;
    const JobSpec other = with_context(spec, 256 * kKi);
    EXPECT_EQ(other.stages[0], spec.stages[0]);
    EXPECT_EQ(other.stages[1].context, 256 * kKi);
    EXPECT_EQ(other.stages[1].sequences_per_step(), 4);
    EXPECT_EQ(other.stages[1].num_steps(), spec.stages[1].num_steps());
}

TEST_F(Extremes, OneDeviceFewerThanTheFewestDoesNotHoldTheJob) {
    const JobSpec spec = long_job(128 * kKi);
    const int fewest = fewest_devices(question(spec)).value();
    ASSERT_GT(fewest, 1);
    EXPECT_TRUE(some_plan_fits(question(spec, fewest)).value());
    EXPECT_FALSE(some_plan_fits(question(spec, fewest - 1)).value());
    EXPECT_FALSE(search_plans(question(spec, fewest), {.ranked = 1})->ranked.empty());
}

TEST_F(Extremes, ARemedyOfAPinnedChoiceIsToFreeIt) {
    JobSpec spec = long_job(256 * kKi);
    spec.parallel = mesh_of(1, 8, 1, 1);
    spec.zero = 3;
    spec.memory.offload = Switch::off;
    spec.memory.keep = Keep::input_and_attention;
    spec.memory.keep_every = 1;
    spec.memory.alpha = 1;
    ASSERT_TRUE(search_plans(question(spec), {.ranked = 1})->ranked.empty());
    const std::vector<Remedy> remedies = remedies_for(question(spec), nullptr).value();
    ASSERT_FALSE(remedies.empty());
    EXPECT_EQ(remedies[0].change, "memory: {offload: auto, windows: auto}");
    EXPECT_EQ(remedies[0].plan.memory.kept, KeptPlace::host);
}

TEST_F(Extremes, NoOtherNumberOfDevicesIsFasterThanTheFastest) {
    JobSpec spec = long_job(64 * kKi);
    spec.model.preset = "tiny";
    spec.resources.devices = 2;
    model = planned_model(spec).value();
    const FastestPlan best = fastest_plan(question(spec, 2)).value();
    spec.resources.devices = 0;
    const double time = best.plan.time(spec).value;
    for (int devices = 1; devices <= 8; devices *= 2) {
        const auto result = search_plans(question(spec, devices), {.ranked = 1}).value();
        const double other = result.ranked.at(0).time(spec).value;
        EXPECT_GE(other, time) << devices;
        if (best.over && devices == best.over->devices) {
            EXPECT_DOUBLE_EQ(best.over->times, other / time);
        }
    }
    ASSERT_TRUE(best.over) << "a long context is faster on several devices";
    EXPECT_EQ(2 * best.over->devices, best.plan.sharding.mesh.num_ranks());
    EXPECT_GT(best.over->times, 1);
}

TEST_F(Extremes, TheFastestPlanOfAFixedMeshHasNoneToCompareWith) {
    JobSpec spec = long_job(64 * kKi);
    spec.parallel = mesh_of(1, 8, 1, 1);
    spec.zero = 3;
    const FastestPlan best = fastest_plan(question(spec)).value();
    EXPECT_EQ(best.plan.sharding.mesh.num_ranks(), 8);
    EXPECT_FALSE(best.over);
}

TEST_F(Extremes, NothingIsFastestWhereNoPlanFits) {
    fleet = published_fleet("L40S", 1).value();
    EXPECT_FALSE(fastest_plan(question(long_job(64 * kKi), 1)));
}

}  // namespace
}  // namespace rm::test
