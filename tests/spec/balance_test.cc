#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "bench/engine/packed_documents.h"
#include "spec/mesh.h"

// Checks what the layout promises about attention's work on the slots of a ring.
namespace rm {
namespace {

using bench::lognormal_documents;

std::int64_t padded_for(std::int64_t tokens, int ring) {
    return padded_length(tokens, Mesh::make(1, ring, 1, 1).value()).value();
}

RingBalance balance_of(const std::vector<std::int64_t>& documents, std::int64_t tokens, int ring) {
    return ring_balance(
        place_documents(documents, padded_for(tokens, ring), ring, Positions::reset));
}

TEST(Balance, OfPackedDocumentsIsWithinFivePercentInEveryRingStep) {
    for (const int ring : {2, 3, 4, 5, 7, 8}) {
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            const auto documents = lognormal_documents(seed, bench::kBalanceTokens,
                                                       bench::kBalanceMedian, bench::kBalanceSigma);
            const RingBalance balance = balance_of(documents, bench::kBalanceTokens, ring);
            ASSERT_LE(balance.worst_step, 1.05) << "seed " << seed << ", ring " << ring;
            ASSERT_LE(balance.overall, 1.01) << "seed " << seed << ", ring " << ring;
        }
    }
}

TEST(Balance, OfOneDocumentIsWithinOnePercent) {
    for (const int ring : {2, 3, 4, 5, 7, 8}) {
        for (std::uint64_t seed = 1; seed <= 50; ++seed) {
            Rng rng(seed);
            const std::int64_t tokens =
                65'536 + static_cast<std::int64_t>(rng.below(std::uint64_t{1} << 20));
            ASSERT_LE(balance_of({tokens}, tokens, ring).worst_step, 1.01)
                << tokens << " tokens, seed " << seed << ", ring " << ring;
        }
    }
}

// Sequences of short documents, at most a few of them long enough to be cut, and of documents about
// as long as those. Steps with almost no work may be uneven; only the total waiting over all steps
// counts. Placement allows 2 %, counting all pieces of a document as equal; they differ by up to a
// token.
TEST(Balance, OfAnyDocumentsCostsLittleWaiting) {
    struct Kind {
        std::int64_t tokens;
        double median, sigma;
    };
    for (const Kind& kind : {Kind{65'536, 700, 1.2},
                             {65'536, 16'384, 1.5},
                             {131'072, 4096, 0.05},
                             {131'072, 8192, 0.02},
                             {131'072, 1500, 0.5},
                             {262'144, 3000, 1}}) {
        for (const int ring : {2, 3, 4, 8}) {
            for (std::uint64_t seed = 1; seed <= 25; ++seed) {
                const auto documents =
                    lognormal_documents(seed, kind.tokens, kind.median, kind.sigma);
                ASSERT_LE(balance_of(documents, kind.tokens, ring).overall, 1.025)
                    << "median " << kind.median << " of " << kind.tokens << " tokens, seed " << seed
                    << ", ring " << ring;
            }
        }
    }
}

TEST(Balance, OfPlainZigzagOverPackedDocumentsIsWhatPlacementIsFor) {
    const auto documents =
        lognormal_documents(1, bench::kBalanceTokens, bench::kBalanceMedian, bench::kBalanceSigma);
    const std::int64_t padded = padded_for(bench::kBalanceTokens, 8);
    EXPECT_GT(ring_balance(bench::plain_zigzag(documents, padded, 8)).overall, 1.2);
}

}  // namespace
}  // namespace rm
