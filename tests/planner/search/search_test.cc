#include "planner/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/search/planned_jobs.h"

namespace rm::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kKi = 1024;

SearchResult search(const JobSpec& spec, const FleetSpec& fleet, int devices,
                    const SearchOptions& options = {}) {
    auto result = search_plans({spec, planned_model(spec).value(), fleet, devices}, options);
    RM_CHECK(result.ok(), "{}", result.error().message);
    return *std::move(result);
}

FleetSpec l40s(int number) {
    return published_fleet("L40S", number).value();
}

void expect_equal(const RankedPlan& a, const RankedPlan& b) {
    EXPECT_EQ(to_string(a.sharding), to_string(b.sharding));
    EXPECT_EQ(a.memory, b.memory);
    EXPECT_EQ(a.prediction.step, b.prediction.step);
}

TEST(RankedPlan, TakesAsLongToEvaluateAsToTrainOnThoseTokensAtMost) {
    JobSpec spec = long_job(64 * kKi);
    const RankedPlan plan{.steps = {Seconds{10}}};
    EXPECT_EQ(plan.time(spec).value, 10.0 * static_cast<double>(spec.num_steps()));
    spec.stages[0].tokens = 0;
    spec.evaluation.tokens = 2 * spec.stages[0].batch + 1;
    EXPECT_EQ(plan.time(spec).value, 30);
    // 2 depths x 4 samples of two texts, which take a batch together.
    spec.evaluation.tokens = 0;
    spec.evaluation.suites = {
        {.lengths = {spec.stages[0].batch / 2, spec.stages[0].batch / 2}, .depths = 2}};
    EXPECT_EQ(plan.time(spec).value, 80);
}

// Every mesh and every stage, each with its own best memory: what the bounds leave out loses.
class Exhaustive : public testing::TestWithParam<std::int64_t> {};
TEST_P(Exhaustive, SearchFindsTheSameWinner) {
    const JobSpec spec = long_job(GetParam() * kKi);
    const FleetSpec fleet = l40s(8);
    const SearchResult all = search(spec, fleet, 8, {.exhaustive = true});
    const SearchResult found = search(spec, fleet, 8, {.ranked = 1});
    ASSERT_EQ(found.ranked.empty(), all.ranked.empty());
    if (all.ranked.empty()) return;
    const double best = all.ranked.front().prediction.step.value;
    EXPECT_LE(found.ranked.front().prediction.step.value, 1.01 * best)
        << to_string(found.ranked.front().sharding) << " instead of "
        << to_string(all.ranked.front().sharding);
    EXPECT_LE(found.searched, all.searched);
    std::printf("    %4lld Ki: %s, step %s; searched %lld of %lld\n",
                static_cast<long long>(GetParam()),
                to_string(found.ranked.front().sharding).c_str(),
                to_string(found.ranked.front().prediction.step).c_str(),
                static_cast<long long>(found.searched), static_cast<long long>(all.shardings));
}
INSTANTIATE_TEST_SUITE_P(Contexts, Exhaustive, testing::Values(64, 256, 1024, 2048, 4096));

TEST(Search, PlansAreWithinTheFleetAndInOrder) {
    const SearchResult result = search(long_job(256 * kKi), l40s(8), 8, {.ranked = 4});
    ASSERT_EQ(result.ranked.size(), 4u);
    double last = 0;
    for (const RankedPlan& plan : result.ranked) {
        EXPECT_LE(plan.prediction.device_total(), *result.limits.device);
        EXPECT_LE(plan.prediction.host_total(), *result.limits.host);
        EXPECT_GE(plan.prediction.step.value, last);
        last = plan.prediction.step.value;
        EXPECT_EQ(plan.placement.size(), 8u);
        EXPECT_EQ(plan.steps.size(), 1u);
        EXPECT_EQ(plan.time(long_job(256 * kKi)).value, 100 * plan.prediction.step.value);
    }
    EXPECT_EQ(std::ssize(result.ranked) + std::ssize(result.passed), result.shardings);
}

TEST(Search, AnswersTheSameTwice) {
    const SearchResult a = search(long_job(128 * kKi), l40s(8), 8);
    const SearchResult b = search(long_job(128 * kKi), l40s(8), 8);
    ASSERT_EQ(a.ranked.size(), b.ranked.size());
    for (std::size_t i = 0; i < a.ranked.size(); ++i)
        expect_equal(a.ranked[i], b.ranked[i]);
}

TEST(Search, WhatTheJobNamesIsKept) {
    JobSpec spec = long_job(128 * kKi);
    spec.parallel = mesh_of(1, 2, 4, 1);
    spec.zero = 3;
    spec.memory.chunk = 2048;
    spec.memory.alpha = 0.25;
    const SearchResult result = search(spec, l40s(8), 8);
    ASSERT_EQ(result.ranked.size(), 1u);
    const RankedPlan& plan = result.ranked[0];
    EXPECT_EQ(to_string(plan.sharding), "ring 2 x ulysses 4, ZeRO 3");
    EXPECT_EQ(plan.memory.chunk_tokens, 2048);
    EXPECT_EQ(plan.memory.alpha, 0.25);
}

TEST(Search, WhereNothingFitsEverySharingSaysByHowMuch) {
    JobSpec spec = long_job(64 * kKi);
    spec.model.preset = "llama3-70b";
    const SearchResult result = search(spec, l40s(8), 8);
    EXPECT_TRUE(result.ranked.empty());
    ASSERT_EQ(std::ssize(result.passed), result.shardings);
    for (const PassedOver& passed : result.passed) {
        EXPECT_EQ(passed.why, PassedOver::Why::too_large);
        EXPECT_GT(passed.device, *result.limits.device);
    }
    // The nearest first.
    EXPECT_LE(result.passed.front().device, result.passed.back().device);
}

TEST(Search, ThePrecisionMustBeTheProfiles) {
    JobSpec spec = long_job(64 * kKi);
    spec.precision = "fp32";
    const auto result = search_plans({spec, planned_model(spec).value(), l40s(8), 8}, {});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("L40S"));
    EXPECT_THAT(result.error().message, HasSubstr("precision: fp32"));
}

}  // namespace
}  // namespace rm::test
