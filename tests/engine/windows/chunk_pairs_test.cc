#include "engine/windows/chunk_pairs.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace rm {
namespace {

constexpr std::uint64_t kSeed = 20'261'125;

TEST(ChunkPairs, ListWhatWasAddedWhateverIsConsecutive) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 200; ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        ChunkPairs pairs;
        std::vector<std::vector<std::size_t>> expected(1 + rng.below(8));
        for (std::vector<std::size_t>& inner : expected) {
            pairs.begin_outer();
            const std::uint64_t gaps = 1 + rng.below(4);
            std::size_t next = rng.below(3);
            for (std::uint64_t count = rng.below(9); count > 0; --count, ++next) {
                if (rng.below(gaps) > 0) next += rng.below(3);
                inner.push_back(next);
                pairs.add(next);
            }
        }
        ASSERT_EQ(pairs.num_outer(), expected.size());
        std::size_t index = 0;
        for (std::size_t outer = 0; outer < expected.size(); ++outer) {
            ASSERT_EQ(pairs.first(outer), index);
            ASSERT_EQ(pairs.count(outer), expected[outer].size());
            for (const std::size_t inner : expected[outer]) {
                ASSERT_EQ(pairs[index].outer, outer);
                ASSERT_EQ(pairs[index].inner, inner);
                ++index;
            }
        }
        ASSERT_EQ(pairs.size(), index);
    }
}

TEST(ChunkPairs, OfNothingAreNone) {
    ChunkPairs pairs;
    EXPECT_EQ(pairs.size(), 0u);
    EXPECT_EQ(pairs.num_outer(), 0u);
    pairs.begin_outer();
    pairs.begin_outer();
    EXPECT_EQ(pairs.num_outer(), 2u);
    EXPECT_EQ(pairs.count(0), 0u);
    EXPECT_EQ(pairs.count(1), 0u);
}

}  // namespace
}  // namespace rm
