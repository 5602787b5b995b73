#include "engine/memory/arena_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "engine/memory/arena_validator.h"
#include "tests/engine/memory/arena_cases.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

const SystemClock kClock;

ArenaResult plan(const ArenaTrace& trace, const ArenaOptions& options = {}) {
    ArenaResult result = plan_arena(trace, options, kClock).value();
    const Status valid = validate_arena(trace, result.plan);
    EXPECT_TRUE(valid.ok()) << valid.error().message;
    EXPECT_GE(result.plan.peak, result.bound);
    EXPECT_GE(result.bound, result.lower_bound);
    return result;
}

// Leaves out the greedy orders, which would hide the search when they are lucky.
ArenaOutcome search_only(const ArenaTrace& trace, const ArenaGoal& goal, int num_threads = 1) {
    ArenaOutcome outcome = stacked_outcome(trace.blocks);
    const std::atomic<bool> stop = false;
    const MonoTime deadline{kClock.mono().nanos + 3'600'000'000'000};
    make_search_solver(num_threads)->improve(trace.blocks, goal, {kClock, deadline, stop}, outcome);
    EXPECT_TRUE(validate_arena(trace, outcome.plan).ok());
    return outcome;
}

// Returns a random trace, a full trace, or a full trace with a few sizes changed.
ArenaTrace tiny_trace(std::uint64_t seed) {
    Rng rng(seed);
    if (seed % 3 == 0) return test::random_trace(rng, 1 + static_cast<int>(seed % 9), 7, 5);
    if (seed % 3 == 1) {
        ArenaTrace full = test::full_trace(rng, 10, 6);
        full.blocks.resize(std::min<std::size_t>(full.blocks.size(), 16));
        return full;
    }
    ArenaTrace trace = test::entangled_trace();
    for (ArenaBlock& block : trace.blocks) {
        if (rng.below(4) == 0)
            block.size.value += rng.below(2) == 0 && block.size > Bytes{1} ? -1 : 1;
    }
    return trace;
}

TEST(ArenaSearch, FindsTheLeastPeakOfTinyTraces) {
    int num_above_live = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        SCOPED_TRACE(seed);
        const ArenaTrace trace = tiny_trace(seed);
        const Bytes least = test::least_peak_of_all_plans(trace);
        num_above_live += least > peak_live(trace.blocks) ? 1 : 0;
        const ArenaOutcome outcome = search_only(trace, {peak_live(trace.blocks), {}});
        EXPECT_EQ(outcome.plan.peak, least);
        EXPECT_EQ(outcome.bound, least);
        EXPECT_EQ(plan(trace).plan.peak, least);
    }
    std::cout << num_above_live << " of 600 traces have no plan at their live bytes\n";
    EXPECT_GE(num_above_live, 10);
}

TEST(ArenaSearch, ProvesThatACapacityIsTooSmall) {
    const ArenaTrace trace = test::entangled_trace();
    EXPECT_EQ(peak_live(trace.blocks), Bytes{6});
    const ArenaResult six = plan(trace, {.capacity = Bytes{6}});
    EXPECT_FALSE(six.fits(Bytes{6}));
    EXPECT_EQ(six.bound, Bytes{7});
    EXPECT_TRUE(plan(trace, {.capacity = Bytes{7}}).fits(Bytes{7}));
    EXPECT_TRUE(plan(trace).proved_least());
}

TEST(ArenaSearch, IsTheSameOnOneAndTwoThreads) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        const ArenaTrace trace = test::random_trace(rng, 40, 30, 50);
        const ArenaGoal goal{peak_live(trace.blocks), {}};
        // Some traces have no quick proof; a plan within 5 % of the live bytes is enough.
        const ArenaGoal near{Bytes{goal.enough.value * 21 / 20}, {}};
        const ArenaOutcome one = search_only(trace, near, 1);
        const ArenaOutcome two = search_only(trace, near, 2);
        EXPECT_EQ(one.plan.offsets, two.plan.offsets);
        EXPECT_LE(one.plan.peak, near.enough);
    }
}

TEST(ArenaPlanner, IsNeverWorseThanGreedyAndNeverBelowTheBound) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        const ArenaTrace trace = test::random_trace(rng, 10 + static_cast<int>(seed), 60, 1000);
        const ArenaResult greedy = plan(trace, {.solver = ArenaSolverKind::greedy});
        const ArenaResult search = plan(trace, {.timeout = Seconds{0.05}});
        EXPECT_LE(search.plan.peak, greedy.plan.peak);
        EXPECT_GE(greedy.plan.peak, search.bound);
    }
}

TEST(ArenaPlanner, PlansPartsOfTimeOneByOne) {
    ArenaTrace trace = test::entangled_trace();
    const std::size_t num_blocks = trace.blocks.size();
    for (std::size_t i = 0; i < num_blocks; ++i) {
        ArenaBlock later = trace.blocks[i];
        later.lower += 100, later.upper += 100;
        trace.blocks.push_back(later);
    }
    trace.blocks.push_back({50, 60, {1}});
    const ArenaResult result = plan(trace);
    EXPECT_EQ(result.num_parts, 3);
    EXPECT_EQ(result.plan.peak, Bytes{7});
    EXPECT_TRUE(result.proved_least());
}

TEST(ArenaPlanner, PlansNothingAndOneBlock) {
    const ArenaResult nothing = plan({});
    EXPECT_EQ(nothing.plan.peak, Bytes{0});
    EXPECT_TRUE(nothing.proved_least());
    EXPECT_EQ(plan({{{-5, 5, {7}}}, {}}).plan.peak, Bytes{7});
}

TEST(ArenaPlanner, TakesTheLargestSizesAndTimes) {
    const Bytes huge = kMaxArenaBlock;
    const std::int64_t end = kMaxArenaTime;
    const ArenaTrace trace{{{-end, 1, huge}, {0, 3, huge}, {2, end, huge}, {-end, end, huge}}, {}};
    for (const ArenaSolverKind solver : {ArenaSolverKind::greedy, ArenaSolverKind::search}) {
        const ArenaResult result = plan(trace, {.solver = solver});
        EXPECT_EQ(result.plan.peak, huge * 3);
        EXPECT_TRUE(result.proved_least());
    }
}

TEST(ArenaPlanner, RefusesAWrongTrace) {
    const auto result = plan_arena({{{0, 1, {0}}}, {}}, {}, kClock);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("block 0: size 0"));
}

// The clock stands still, so the planner does only the required work.
TEST(ArenaPlanner, HasAValidPlanWhenThereIsNoTime) {
    Rng rng(3);
    const ArenaTrace trace = test::random_trace(rng, 200, 100, 1000);
    const ArenaResult hurried = plan(trace, {.timeout = Seconds{0}});
    EXPECT_FALSE(hurried.proved_least());
    const std::atomic<bool> stop = true;
    const auto stopped = plan_arena(trace, {}, kClock, &stop).value();
    EXPECT_EQ(stopped.plan.offsets, hurried.plan.offsets);
}

TEST(ArenaPlanner, ReachesTheLiveBytesOfATrainingStep) {
    for (const int num_layers : {2, 8, 16, 24}) {
        const ArenaTrace trace = test::step_trace({.num_layers = num_layers});
        ArenaTrace flat = trace;
        flat.groups.clear();
        for (const ArenaTrace& each : {trace, flat}) {
            const MonoTime started = kClock.mono();
            const ArenaResult result = plan(each);
            std::cout << num_layers << " layers, " << trace.blocks.size() << " blocks"
                      << (each.groups.empty() ? "" : ", in groups") << ": peak "
                      << result.plan.peak.value << " in " << kClock.mono() - started << "\n";
            EXPECT_EQ(result.plan.peak, result.lower_bound);
        }
        const MonoTime started = kClock.mono();
        const ArenaOutcome searched = search_only(flat, {peak_live(flat.blocks), {}});
        std::cout << "  without greedy orders in " << kClock.mono() - started << "\n";
        EXPECT_TRUE(searched.proved());
    }
}

// Has more blocks than the search accepts; the greedy orders would need 8 % more bytes.
TEST(ArenaSkyline, ReachesTheLiveBytesOfLayersThatOverlap) {
    const ArenaTrace trace = test::layers_in_windows(160);
    ASSERT_GT(trace.blocks.size(), 4096);
    const ArenaResult result = plan(trace, {.solver = ArenaSolverKind::greedy});
    EXPECT_EQ(result.plan.peak, result.lower_bound);
}

TEST(ArenaSkyline, HasAValidPlanWhenThereIsNoTime) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        const ArenaTrace trace = test::random_trace(rng, 50, 40, 50);
        ArenaOutcome best = stacked_outcome(trace.blocks);
        const Bytes stacked = best.plan.peak;
        const std::atomic<bool> stop = false;
        make_skyline_solver()->improve(trace.blocks, {best.bound, {}},
                                       {kClock, kClock.mono(), stop}, best);
        EXPECT_TRUE(validate_arena(trace, best.plan).ok());
        EXPECT_LT(best.plan.peak, stacked);
    }
}

TEST(ArenaGroups, ArePlannedOnceEachAndThenAsBlocks) {
    // Two equal layers of two blocks, one after the other, and one block across both.
    const ArenaTrace trace{{{0, 2, {3}}, {1, 3, {4}}, {10, 12, {3}}, {11, 13, {4}}, {0, 13, {5}}},
                           {0, 0, 1, 1, kNoGroup}};
    const ArenaResult result = plan(trace);
    EXPECT_EQ(result.plan.peak, Bytes{12});
    const auto inside = [&](std::size_t a, std::size_t b) {
        return result.plan.offsets[a].value - result.plan.offsets[b].value;
    };
    EXPECT_EQ(inside(0, 1), inside(2, 3));
}

// The groups overlap badly as blocks, so planning the whole trace must win.
TEST(ArenaGroups, NeverMakeAPlanWorse) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        ArenaTrace trace = test::random_trace(rng, 1 + static_cast<int>(seed % 7), 8, 6);
        for (std::size_t i = 0; i < trace.blocks.size(); ++i)
            trace.groups.push_back(static_cast<int>(rng.below(4)) - 1);
        EXPECT_EQ(plan(trace).plan.peak, test::least_peak_of_all_plans(trace));
    }
}

class ArenaMilp : public testing::Test {
protected:
    void SetUp() override {
        if (const auto solver = make_milp_solver(); !solver) {
            EXPECT_EQ(solver.error().code, ErrorCode::unimplemented);
            GTEST_SKIP() << solver.error().message;
        }
    }
    // The deadline is far: how fast the machine is decides nothing here.
    static ArenaOutcome milp_only(const ArenaTrace& trace) {
        ArenaOutcome outcome = stacked_outcome(trace.blocks);
        const std::atomic<bool> stop = false;
        const MonoTime deadline{kClock.mono().nanos + 3'600'000'000'000};
        const auto solver = make_milp_solver().value();
        solver->improve(trace.blocks, {peak_live(trace.blocks), {}}, {kClock, deadline, stop},
                        outcome);
        EXPECT_TRUE(validate_arena(trace, outcome.plan).ok());
        return outcome;
    }
};

TEST_F(ArenaMilp, AgreesWithTheSearchOnTinyTraces) {
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        SCOPED_TRACE(seed);
        const ArenaTrace trace = tiny_trace(seed);
        const ArenaOutcome outcome = milp_only(trace);
        EXPECT_TRUE(outcome.proved());
        EXPECT_EQ(outcome.plan.peak, plan(trace).plan.peak);
    }
}

TEST_F(ArenaMilp, AgreesWithTheSearchUpToSixteenBlocks) {
    for (const int count : {10, 12, 14, 16}) {
        SCOPED_TRACE(count);
        Rng rng(static_cast<std::uint64_t>(count));
        const ArenaTrace trace = test::random_trace(rng, count, 2 * count, 30);
        const ArenaResult searched = plan(trace);
        EXPECT_TRUE(searched.proved_least());
        const MonoTime started = kClock.mono();
        const ArenaOutcome solved = milp_only(trace);
        std::cout << count << " blocks: " << kClock.mono() - started << "\n";
        EXPECT_TRUE(solved.proved());
        EXPECT_EQ(solved.plan.peak, searched.plan.peak);
    }
}

// Divides sizes by their common divisor; declines a trace whose sizes are still too large.
TEST_F(ArenaMilp, ScalesSizesAndDeclinesWhatItCannotCount) {
    const std::int64_t unit = std::int64_t{1} << 50;
    ArenaTrace trace{{{0, 2, {4 * unit}}, {1, 3, {2 * unit}}, {2, 4, {4 * unit}}}, {}};
    EXPECT_EQ(milp_only(trace).plan.peak, Bytes{6 * unit});
    trace.blocks[0].size += Bytes{1};
    EXPECT_EQ(milp_only(trace).plan.peak, stacked_outcome(trace.blocks).plan.peak);
}

}  // namespace
}  // namespace rm
