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

// A job that runs at 1 USD a second and may cost 20.
struct Limited : Pair {
    Limited() : Pair(spec()) {
        state.attempts.at(epoch).rates = kRates;
        folded = flatten_tables(state);
        run();
    }
    static JobSpec spec() {
        JobSpec limited = retried_spec();
        limited.resources.max_cost_usd = 20;
        return limited;
    }
    void stop() {
        report("a", ended(0, kRankStopped), Left::no);
        report("b", ended(1, kRankStopped), Left::no);
    }
};

TEST(CostLimit, StopsARunWithACheckpoint) {
    Limited world;
    EXPECT_TRUE(commands<StopAttempt>(world.wait(Seconds{19})).empty());
    const auto stops = commands<StopAttempt>(world.wait(Seconds{1}));
    ASSERT_EQ(stops.size(), 2U);
    EXPECT_EQ(stops[0].mode, StopMode::graceful);
    EXPECT_EQ(world.attempt(world.id).stop_reason, StopReason::cost);
    EXPECT_TRUE(commands<StopAttempt>(world.wait(Seconds{1})).empty()) << "it stops once";
}

TEST(CostLimit, EndsTheJobThoughItMayBeTriedAgain) {
    Limited world;
    world.wait(Seconds{20});
    world.stop();
    EXPECT_EQ(world.attempt(world.id).state, AttemptState::cancelled);
    EXPECT_EQ(world.job(world.id).state, JobState::failed);
    EXPECT_EQ(world.job(world.id).failure,
              "attempt 1 was stopped: it has cost 20.00 USD, and max_cost_usd is 20.00");
}

TEST(CostLimit, LetsAJobSucceedThatFinishesWhileItStops) {
    Limited world;
    world.wait(Seconds{20});
    world.report("a", ended(0, kRankFinished), Left::no);
    world.report("b", ended(1, kRankFinished), Left::no);
    EXPECT_EQ(world.job(world.id).state, JobState::succeeded);
}

TEST(CostLimit, CountsEarlierAttempts) {
    Limited world;
    world.wait(Seconds{15});
    world.fail(kRankFailed, "it broke");
    world.now = world.now + Seconds{60};
    world.start();
    world.state.attempts.at(world.epoch).rates = kRates;
    world.folded = flatten_tables(world.state);
    world.run();
    EXPECT_TRUE(commands<StopAttempt>(world.wait(Seconds{4})).empty());
    EXPECT_EQ(commands<StopAttempt>(world.wait(Seconds{2})).size(), 2U);
}

}  // namespace
}  // namespace rm::test
