#include "engine/memory/sweep/arena_sweep.h"

#include <gtest/gtest.h>

#include "bench/engine/hard_traces.h"
#include "engine/memory/arena_validator.h"
#include "tests/engine/memory/arena_cases.h"

namespace rm {
namespace {

const std::function<bool()> kNever = [] { return false; };

std::optional<ArenaPlan> sweep(const ArenaTrace& trace, Bytes target, std::int64_t max_nodes) {
    const auto offsets = ArenaSweeps(trace.blocks, target).run(max_nodes, kNever);
    if (!offsets) return std::nullopt;
    ArenaPlan plan;
    for (const std::int64_t offset : *offsets)
        plan.offsets.push_back({offset});
    plan.peak = peak_of(trace.blocks, plan.offsets);
    return plan;
}

TEST(HardTraces, FillTheirArenaAtOneMomentAtLeast) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        const ArenaTrace trace = hard_trace(hard_case(seed));
        EXPECT_TRUE(check_trace(trace).ok());
        EXPECT_EQ(peak_live(trace.blocks), HardArena{}.capacity);
        EXPECT_GE(trace.blocks.size(), 150);
        EXPECT_LE(trace.blocks.size(), 500);
    }
}

// Without a clock: a number of nodes bounds the work. Steps are for the skylines.
TEST(ArenaSweep, PlacesHardTracesInTheArenaThatTheyWereCutFrom) {
    for (std::uint64_t seed = 1; seed <= 36; ++seed) {
        const HardCase hard = hard_case(seed);
        SCOPED_TRACE(format("{}, seed {}", to_string(hard.kind), seed));
        if (hard.kind == HardTrace::step || hard.kind == HardTrace::full_step) continue;
        const ArenaTrace trace = hard_trace(hard);
        const auto plan = sweep(trace, HardArena{}.capacity, 4000);
        ASSERT_TRUE(plan);
        EXPECT_TRUE(validate_arena(trace, *plan, HardArena{}.capacity).ok());
    }
}

TEST(ArenaSweep, NeverExceedsItsTarget) {
    int num_placed = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        const ArenaTrace trace =
            seed % 2 == 0 ? test::random_trace(rng, 12, 9, 5) : test::full_trace(rng, 12, 8);
        const Bytes target = peak_live(trace.blocks) + Bytes{static_cast<std::int64_t>(seed % 3)};
        const auto plan = sweep(trace, target, 2000);
        if (!plan) continue;
        ++num_placed;
        EXPECT_TRUE(validate_arena(trace, *plan, target).ok());
    }
    EXPECT_GE(num_placed, 200);
}

TEST(ArenaSweep, FindsNoPlanWhereNoneExists) {
    EXPECT_FALSE(sweep(test::entangled_trace(), Bytes{6}, 20'000));
}

}  // namespace
}  // namespace rm
