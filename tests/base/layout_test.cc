#include "base/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace rm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(PaddedLength, IsTheNextMultipleOfTheMesh) {
    const Mesh ring4 = Mesh::make(1, 4, 1, 1).value();
    EXPECT_EQ(padded_length(8192, ring4).value(), 8192);
    EXPECT_EQ(padded_length(8190, ring4).value(), 8192);
    EXPECT_EQ(padded_length(65536, Mesh::make(2, 5, 2, 1).value()).value(), 65600);
    EXPECT_EQ(padded_length(8193, Mesh::make(7, 1, 1, 1).value()).value(), 8224)
        << "the data axis does not cut the sequence";
}

TEST(PaddedLength, RefusesWasteAndNamesTheNearestContexts) {
    const Mesh ring4 = Mesh::make(1, 4, 1, 1).value();
    const auto wasteful = padded_length(140, ring4);
    ASSERT_FALSE(wasteful);
    EXPECT_EQ(wasteful.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(wasteful.error().message, HasSubstr("140"));
    EXPECT_THAT(wasteful.error().message, HasSubstr("ring 4"));
    EXPECT_THAT(wasteful.error().message, HasSubstr("128 or 256"));
    const auto tiny = padded_length(10, ring4);
    ASSERT_FALSE(tiny);
    EXPECT_THAT(tiny.error().message, HasSubstr("waste: 128"));
    EXPECT_FALSE(padded_length(0, ring4));
    EXPECT_FALSE(padded_length(-5, ring4));
}

TEST(Zigzag, GivesEverySlotTheSameWork) {
    for (const int ring : {1, 2, 3, 4, 5, 7, 10}) {
        const std::int64_t tokens = 32 * ring;
        const std::vector<rm::Run> whole = {{0, 0, tokens}};
        const std::int64_t all = attended_pairs(whole, whole);
        for (int slot = 0; slot < ring; ++slot) {
            const auto runs = zigzag_runs(tokens, tokens, ring, slot, 0);
            EXPECT_EQ(attended_pairs(runs, whole) * ring, all) << "slot " << slot << " of " << ring;
        }
    }
}

TEST(Zigzag, PartitionsTheSequence) {
    for (const int ring : {1, 2, 3, 5}) {
        const std::int64_t padded = 32 * ring;
        for (const std::int64_t context :
             {padded, padded - 1, padded - 17, padded / 2, padded / 2 - 3}) {
            std::vector<std::int64_t> positions;
            std::int64_t padding = 0;
            for (int slot = 0; slot < ring; ++slot) {
                const auto runs = zigzag_runs(context, padded, ring, slot, 9);
                EXPECT_EQ(num_tokens(runs), padded / ring);
                for (const rm::Run& run : runs) {
                    if (run.document == kPaddingDocument) padding += run.length;
                    if (run.document != 9) continue;
                    for (std::int64_t i = 0; i < run.length; ++i)
                        positions.push_back(run.first + i);
                }
            }
            std::sort(positions.begin(), positions.end());
            ASSERT_EQ(static_cast<std::int64_t>(positions.size()), context);
            for (std::int64_t i = 0; i < context; ++i) {
                ASSERT_EQ(positions[static_cast<std::size_t>(i)], i) << "ring " << ring;
            }
            EXPECT_EQ(padding, padded - context);
        }
    }
}

TEST(Zigzag, RunsSitWhereTheRangesCutTheData) {
    EXPECT_THAT(zigzag_ranges(64, 4, 1), ElementsAre(TokenRange{8, 8}, TokenRange{48, 8}));
    EXPECT_THAT(zigzag_runs(64, 64, 4, 1, 3), ElementsAre(rm::Run{3, 8, 8}, rm::Run{3, 48, 8}));
    EXPECT_THAT(zigzag_runs(50, 64, 4, 1, 3),
                ElementsAre(rm::Run{3, 8, 8}, rm::Run{3, 48, 2}, rm::Run{kPaddingDocument, 50, 6}));
    EXPECT_THAT(zigzag_runs(64, 64, 4, 3, 3), ElementsAre(rm::Run{3, 24, 16}))
        << "the last slot's pieces are neighbours and make one run";
    EXPECT_THROW(zigzag_ranges(65, 4, 1), CheckError);
}

}  // namespace
}  // namespace rm
