#include "controller/core/jobs/job_cost.h"

#include <gtest/gtest.h>

#include "tests/controller/pair.h"

namespace rm::test {
namespace {

const Rates kRates{.price = {.per_device_hour = 1800, .currency = "USD"},  // 1 USD a second for two
                   .power = {.device_watts = 360, .host_watts = 0, .pue = 1, .grams_per_kwh = 0}};

Attempt attempt_of(WallTime started, WallTime ended) {
    Attempt attempt{.rates = kRates, .ranks = {{}, {}}, .started = started, .ended = ended};
    if (ended.micros != 0) attempt.state = AttemptState::failed;
    return attempt;
}

TEST(JobCost, IsThatOfTheTimeThatDevicesAreHeld) {
    const WallTime start{1'000'000'000};
    const Attempt runs = attempt_of(start, {});
    EXPECT_DOUBLE_EQ(cost_of(runs, start + Seconds{20}).money, 20);
    EXPECT_DOUBLE_EQ(cost_of(runs, start + Seconds{20}).kwh, 2 * 360 * 20 / 3.6e6);
    EXPECT_EQ(cost_of(runs, start + Seconds{-5}).money, 0) << "the clock was set back";
    const Attempt ended = attempt_of(start, start + Seconds{7});
    EXPECT_DOUBLE_EQ(cost_of(ended, start + Seconds{20}).money, 7);
}

TEST(JobCost, TakesTheMetersOfGpusOnceAllHaveEnded) {
    const WallTime start{1'000'000'000};
    Attempt attempt = attempt_of(start, {});
    attempt.ranks[0].joules = 1800;
    EXPECT_DOUBLE_EQ(cost_of(attempt, start + Seconds{20}).kwh, 2 * 360 * 20 / 3.6e6);
    attempt.ended = start + Seconds{20};
    attempt.state = AttemptState::failed;
    EXPECT_DOUBLE_EQ(cost_of(attempt, start + Seconds{20}).kwh, 2 * 360 * 20 / 3.6e6)
        << "rank 1 was lost with its node";
    attempt.ranks[1].joules = 1800;
    EXPECT_DOUBLE_EQ(cost_of(attempt, start + Seconds{20}).kwh, 0.001);
}

// The sum that resources.max_cost_usd limits goes on over attempts.
TEST(JobCost, OfAJobIsThatOfAllItsAttempts) {
    Pair world(retried_spec());
    world.state.attempts.at(world.epoch).rates = kRates;
    world.run();
    world.now = world.now + Seconds{10};
    world.fail(kRankFailed, "it broke");
    const Job& job = world.job(world.id);
    ASSERT_EQ(job.state, JobState::pending);
    const WallTime later = world.now + Seconds{100};
    EXPECT_NEAR(cost_of(world.state, job, later).money, 10, 1);
    EXPECT_EQ(cost_of(world.state, job, later).money, spent_usd(world.state, job, later));
    const PlanningSnapshot snapshot = planning_snapshot(world.state, later);
    EXPECT_EQ(snapshot.pending.at(0).spent_usd, spent_usd(world.state, job, later));
    const double first = cost_of(world.state, job, later).money;
    world.now = later;
    world.start();
    world.state.attempts.at(world.epoch).rates = kRates;
    EXPECT_NEAR(cost_of(world.state, job, world.now + Seconds{30}).money, first + 30, 0.1);
}

}  // namespace
}  // namespace rm::test
