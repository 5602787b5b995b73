#include "engine/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::ElementsAre;

// Files 000.txt, 001.txt, ... of the given sizes.
std::unique_ptr<ByteSource> corpus_of(const TempDir& dir, const std::vector<int>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        write_text(dir / format("{:03}.txt", i),
                   std::string(static_cast<std::size_t>(sizes[i]), 'x'));
    }
    return byte_source(dir.path());
}

void expect_partition(const TokenSource& corpus, const Split& split) {
    for (std::int64_t i = 0; i < corpus.num_documents(); ++i) {
        std::int64_t train_end = 0;
        std::int64_t held_out_first = corpus.num_tokens(i);
        for (const DocumentSpan& span : split.train.spans) {
            if (span.document != i) continue;
            EXPECT_EQ(span.first, 0);
            train_end = span.tokens;
        }
        for (const DocumentSpan& span : split.held_out.spans) {
            if (span.document != i) continue;
            EXPECT_EQ(span.first + span.tokens, corpus.num_tokens(i));
            held_out_first = span.first;
        }
        EXPECT_EQ(train_end, held_out_first) << "document " << i;
    }
}

TEST(Split, SharesOutEveryByteOnceWhateverTheSizes) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(format("seed {}", seed));
        Rng rng(seed);
        TempDir dir;
        std::vector<int> sizes(1 + rng.below(12));
        for (int& size : sizes)
            size = 1 + static_cast<int>(rng.below(rng.below(2) == 0 ? 10 : 2000));
        const auto corpus = corpus_of(dir, sizes);
        const double fraction = rng.uniform() * 0.5;
        const auto split = split_held_out(*corpus, fraction, seed);
        ASSERT_TRUE(split);
        expect_partition(*corpus, *split);
        EXPECT_GT(split->train.num_stored(), 0);
        const double wanted = fraction * static_cast<double>(corpus->total_tokens());
        const auto held_out = static_cast<double>(split->held_out.num_stored());
        EXPECT_GE(held_out, std::min(wanted, static_cast<double>(corpus->total_tokens() - 1)));
        EXPECT_LE(held_out, 2 * wanted + 2);
    }
}

TEST(Split, ChoosesDocumentsBySeedAndNotByPlace) {
    TempDir dir;
    const auto corpus = corpus_of(dir, std::vector<int>(100, 10));
    std::set<std::int64_t> first_choices;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto split = split_held_out(*corpus, 0.05, seed);
        ASSERT_EQ(split->held_out.spans.size(), 5u);
        EXPECT_EQ(split->train.spans.size(), 95u);
        EXPECT_EQ(split->held_out.spans, split_held_out(*corpus, 0.05, seed)->held_out.spans);
        first_choices.insert(split->held_out.spans[0].document);
    }
    EXPECT_GT(first_choices.size(), 5u);
}

TEST(Split, CutsTheEndOffAnOnlyDocument) {
    TempDir dir;
    const auto corpus = corpus_of(dir, {1000});
    const auto split = split_held_out(*corpus, 0.1, 7);
    EXPECT_THAT(split->train.spans, ElementsAre(DocumentSpan{0, 0, 900}));
    EXPECT_THAT(split->held_out.spans, ElementsAre(DocumentSpan{0, 900, 100}));
    EXPECT_EQ(split->train.num_tokens(), 901);
}

TEST(Split, DoesNotHoldOutHalfOfTwoEqualDocuments) {
    TempDir dir;
    const auto corpus = corpus_of(dir, {1000, 1000});
    const auto split = split_held_out(*corpus, 0.1, 7);
    EXPECT_EQ(split->held_out.num_stored(), 200);
    expect_partition(*corpus, *split);
}

TEST(Split, HoldsOutNothingWhenAskedForNothing) {
    TempDir dir;
    const auto corpus = corpus_of(dir, {10, 20});
    const auto split = split_held_out(*corpus, 0, 7);
    EXPECT_TRUE(split->held_out.spans.empty());
    EXPECT_EQ(split->train.num_stored(), 30);
}

TEST(Split, RefusesAFractionOutsideZeroToOne) {
    TempDir dir;
    const auto corpus = corpus_of(dir, {10});
    for (const double fraction : {-0.1, 1.0, std::nan("")}) {
        EXPECT_EQ(split_held_out(*corpus, fraction, 1).error().code, ErrorCode::invalid_argument);
    }
}

TEST(Shuffled, IsAPermutationThatTheSeedDecides) {
    auto order = shuffled(50, 3);
    EXPECT_EQ(order, shuffled(50, 3));
    EXPECT_NE(order, shuffled(50, 4));
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < 50; ++i)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace rm
