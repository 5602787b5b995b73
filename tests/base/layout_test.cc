#include "base/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/random.h"

namespace rm {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kSeed = 20'260'101;

std::vector<rm::Run> random_runs(Rng& rng) {
    std::vector<rm::Run> runs;
    const std::uint64_t count = 1 + rng.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
        runs.push_back({static_cast<std::int32_t>(rng.below(4)) - 1,
                        static_cast<std::int64_t>(rng.below(20)),
                        static_cast<std::int64_t>(rng.below(20))});
    }
    return runs;
}

std::int64_t pairs_by_brute_force(std::span<const Run> queries, std::span<const Run> keys) {
    std::int64_t pairs = 0;
    for (const rm::Run& q : queries) {
        for (const rm::Run& k : keys) {
            if (q.document == kPaddingDocument || q.document != k.document) continue;
            for (std::int64_t i = 0; i < q.length; ++i) {
                for (std::int64_t j = 0; j < k.length; ++j)
                    pairs += k.first + j <= q.first + i;
            }
        }
    }
    return pairs;
}

TEST(AttendedPairs, IsTheNumberOfPairsTheMaskAllows) {
    for (std::uint64_t round = 0; round < 2000; ++round) {
        Rng rng(kSeed + round);
        const auto queries = random_runs(rng);
        const auto keys = random_runs(rng);
        ASSERT_EQ(attended_pairs(queries, keys), pairs_by_brute_force(queries, keys))
            << "seed " << kSeed + round;
    }
}

TEST(AttendedPairs, OfOneDocumentIsTheTriangle) {
    const std::vector<rm::Run> runs = {{0, 0, 100}};
    EXPECT_EQ(attended_pairs(runs, runs), 100 * 101 / 2);
}

TEST(SliceRuns, CutsAnywhereAndComposes) {
    for (std::uint64_t round = 0; round < 500; ++round) {
        Rng rng(kSeed + round);
        const auto runs = random_runs(rng);
        const std::int64_t total = num_tokens(runs);
        const auto cut =
            static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(total) + 1));
        const auto left = slice_runs(runs, 0, cut);
        const auto right = slice_runs(runs, cut, total - cut);
        ASSERT_EQ(num_tokens(left), cut) << "seed " << kSeed + round;
        ASSERT_EQ(num_tokens(right), total - cut) << "seed " << kSeed + round;
        ASSERT_EQ(attended_pairs(left, runs) + attended_pairs(right, runs),
                  attended_pairs(runs, runs))
            << "seed " << kSeed + round;
    }
}

TEST(SliceRuns, KeepsPositions) {
    const std::vector<rm::Run> runs = {{0, 10, 4}, {1, 0, 6}};
    EXPECT_THAT(slice_runs(runs, 2, 5), ElementsAre(rm::Run{0, 12, 2}, rm::Run{1, 0, 3}));
}

TEST(CutTiles, StartsAnewAtEachRunAndAllowsOneShortTile) {
    const std::vector<rm::Run> runs = {{0, 0, 10}, {1, 0, 8}, {2, 0, 3}};
    EXPECT_THAT(cut_tiles(runs, 4),
                ElementsAre(TokenRange{0, 4}, TokenRange{4, 4}, TokenRange{8, 2}, TokenRange{10, 4},
                            TokenRange{14, 4}, TokenRange{18, 3}));
    EXPECT_THROW(cut_tiles(runs, 0), CheckError);
}

TEST(GroupChunks, HoldsWholeTilesInOrder) {
    const std::vector<rm::Run> runs = {{0, 0, 10}, {1, 0, 8}};
    const auto tiles = cut_tiles(runs, 4);
    const auto chunks = group_chunks(tiles, 2);
    ASSERT_EQ(chunks.size(), 3U);
    EXPECT_EQ(cover(chunks[0]), (TokenRange{0, 8}));
    EXPECT_EQ(cover(chunks[1]), (TokenRange{8, 6}));
    EXPECT_EQ(cover(chunks[2]), (TokenRange{14, 4}));
    EXPECT_THROW(group_chunks(tiles, 0), CheckError);
    EXPECT_THROW(cover({}), CheckError);
}

}  // namespace
}  // namespace rm
