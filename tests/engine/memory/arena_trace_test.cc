#include "engine/memory/arena_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/memory/arena_sections.h"
#include "tests/engine/memory/arena_cases.h"
#include "tests/support/refusals.h"

namespace rm {
namespace {

std::string refusal(const ArenaTrace& trace) {
    return test::refusal_of(check_trace(trace));
}

TEST(ArenaTrace, RefusesWhatCouldOverflowAndNamesTheBlock) {
    const Bytes huge = kMaxArenaBlock;
    EXPECT_EQ(refusal({{{0, 1, huge}, {0, 1, huge}, {0, 1, huge}, {0, 1, huge}}, {}}), "accepted");
    EXPECT_EQ(refusal({{{0, 1, huge}, {0, 1, huge}, {0, 1, huge}, {0, 1, huge}, {7, 8, {1}}}, {}}),
              "block 4: the sizes up to here add up to more than 2^62");
    EXPECT_EQ(refusal({{{0, 1, huge + Bytes{1}}}, {}}),
              "block 0: size 1152921504606846977 is not from 1 to 2^60");
    EXPECT_EQ(refusal({{{0, 1, {1}}, {0, 1, {0}}}, {}}), "block 1: size 0 is not from 1 to 2^60");
    EXPECT_EQ(refusal({{{0, kMaxArenaTime + 1, {1}}}, {}}),
              "block 0: the lifetime [0, 1152921504606846977) is not within 2^60 of 0");
}

TEST(ArenaTrace, RefusesEmptyLivesAndMissingGroups) {
    EXPECT_EQ(refusal({{{3, 3, {1}}}, {}}),
              "block 0: the lifetime [3, 3) is empty; upper must be larger");
    EXPECT_EQ(refusal({{{0, 1, {1}}, {0, 1, {1}}}, {0}}),
              "1 groups for 2 blocks; one for each, or none");
    EXPECT_EQ(refusal({}), "accepted");
}

TEST(ArenaTrace, CountsLiveBytesWithHalfOpenLives) {
    const std::vector<ArenaBlock> blocks = {{0, 2, {4}}, {2, 4, {5}}, {1, 3, {2}}};
    EXPECT_EQ(peak_live(blocks), Bytes{7});
    EXPECT_EQ(peak_live({}), Bytes{0});
}

// Computes the live set of every moment by brute force.
std::set<std::set<int>> live_sets(const ArenaTrace& trace, std::int64_t horizon) {
    std::set<std::set<int>> sets;
    for (std::int64_t time = 0; time < horizon; ++time) {
        std::set<int> live;
        for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
            const ArenaBlock& block = trace.blocks[i];
            if (block.lower <= time && time < block.upper) live.insert(static_cast<int>(i));
        }
        sets.insert(live);
    }
    return sets;
}

TEST(ArenaSections, AreTheLargestSetsOfBlocksThatLiveTogether) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        const ArenaTrace trace = test::random_trace(rng, 1 + static_cast<int>(seed % 12), 15, 9);
        const std::set<std::set<int>> live = live_sets(trace, 15);
        std::set<std::set<int>> largest;
        for (const auto& set : live) {
            const bool contained = std::any_of(live.begin(), live.end(), [&](const auto& other) {
                return other != set &&
                       std::includes(other.begin(), other.end(), set.begin(), set.end());
            });
            if (!contained) largest.insert(set);
        }
        const ArenaSections sections = make_sections(trace.blocks);
        std::map<int, std::set<int>> found;
        for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
            for (int s = sections.first[i]; s < sections.end[i]; ++s)
                found[s].insert(static_cast<int>(i));
        }
        EXPECT_EQ(static_cast<int>(found.size()), sections.num_sections);
        std::set<std::set<int>> found_sets;
        for (const auto& [section, set] : found)
            found_sets.insert(set);
        EXPECT_EQ(found_sets, largest);
    }
}

TEST(ArenaSections, SplitTimeWhereNothingLivesAcross) {
    const std::vector<ArenaBlock> blocks = {{5, 6, {1}}, {0, 2, {1}}, {1, 3, {1}}, {3, 5, {1}}};
    EXPECT_EQ(split_by_time(blocks), (std::vector<std::vector<int>>{{1, 2}, {3}, {0}}));
    EXPECT_TRUE(split_by_time({}).empty());
}

}  // namespace
}  // namespace rm
