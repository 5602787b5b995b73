#include "engine/memory/arena_validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "engine/memory/arena_planner.h"
#include "tests/engine/memory/arena_cases.h"
#include "tests/support/refusals.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

// Three blocks; the first and the last are never live together.
const ArenaTrace kTrace{{{0, 2, {4}}, {1, 3, {2}}, {2, 4, {4}}}, {}};
const ArenaPlan kPlan{{{0}, {4}, {0}}, {6}};

std::string refusal(const ArenaTrace& trace, const ArenaPlan& plan,
                    std::optional<Bytes> capacity = {}) {
    return test::refusal_of(validate_arena(trace, plan, capacity));
}

TEST(ArenaValidator, AcceptsBlocksThatTouchInTimeOrSpace) {
    EXPECT_EQ(refusal(kTrace, kPlan), "accepted");
    EXPECT_EQ(refusal(kTrace, kPlan, Bytes{6}), "accepted");
    EXPECT_EQ(refusal({}, {}), "accepted");
}

TEST(ArenaValidator, RefusesSharedBytesAndNamesTheBlocks) {
    EXPECT_EQ(refusal(kTrace, {{{0}, {3}, {0}}, {5}}),
              "blocks 0 and 1 live together and share bytes: [0, 2) x [0, 4) and [1, 3) x [3, 5)");
    // One block inside the other, and two blocks at the same place.
    EXPECT_THAT(refusal(kTrace, {{{0}, {1}, {4}}, {8}}), HasSubstr("blocks 0 and 1"));
    EXPECT_THAT(refusal(kTrace, {{{4}, {0}, {0}}, {8}}), HasSubstr("blocks 1 and 2"));
}

TEST(ArenaValidator, RefusesWhatIsNoPlanOfTheTrace) {
    EXPECT_EQ(refusal(kTrace, {{{0}, {4}}, {6}}), "2 offsets for 3 blocks");
    EXPECT_EQ(refusal(kTrace, {{{-1}, {4}, {0}}, {6}}), "block 0: offset -1 is not from 0 to 2^62");
    EXPECT_EQ(refusal(kTrace, {{{0}, {4}, {0}}, {5}}), "the plan's peak is 6 and not 5");
    EXPECT_EQ(refusal(kTrace, kPlan, Bytes{5}), "the plan's peak 6 is above the capacity 5");
}

TEST(ArenaValidator, DoesNotOverflow) {
    const Bytes huge = kMaxArenaBlock;
    const ArenaTrace trace{{{0, 2, huge}, {1, 3, huge}}, {}};
    EXPECT_EQ(refusal(trace, {{{0}, huge}, huge * 2}), "accepted");
    EXPECT_THAT(refusal(trace, {{{0}, huge + Bytes{-1}}, huge * 2}), HasSubstr("share bytes"));
    EXPECT_THAT(refusal(trace, {{{0}, {std::int64_t{9'223'372'036'854'775'807}}}, huge * 2}),
                HasSubstr("block 1: offset"));
}

// In a greedy plan every block above 0 lies directly on another block that is live with it.
TEST(ArenaValidator, RefusesAnyBlockMovedIntoTheOneBelow) {
    const SystemClock clock;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        const ArenaTrace trace = test::random_trace(rng, 30, 20, 100);
        const auto result = plan_arena(trace, {.solver = ArenaSolverKind::greedy}, clock).value();
        for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
            ArenaPlan plan = result.plan;
            if (plan.offsets[i] == Bytes{0}) continue;
            plan.offsets[i] += Bytes{-1};
            plan.peak = peak_of(trace.blocks, plan.offsets);
            EXPECT_THAT(refusal(trace, plan), HasSubstr("share bytes")) << "block " << i;
        }
    }
}

}  // namespace
}  // namespace rm
