#include "spec/place_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "tests/support/zigzag_runs.h"

namespace rm {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr std::uint64_t kSeed = 20'261'120;

struct Case {
    std::uint64_t seed;
    std::vector<std::int64_t> lengths;
    std::int64_t padded;
    int ring;
    Positions positions;

    DocumentLayout place() const { return place_documents(lengths, padded, ring, positions); }
    std::int64_t pairs() const {
        std::int64_t pairs = 0;
        for (const std::int64_t length : lengths)
            pairs += length * (length + 1) / 2;
        return pairs;
    }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << "seed " << c.seed << ", ring " << c.ring << ", " << c.lengths.size()
               << " documents, " << c.padded << " tokens";
}

std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

// Tiny lengths, short ones, ones near the limit from which zigzag cuts, and long ones.
std::int64_t random_length(Rng& rng, int ring) {
    const std::int64_t zigzag = 64 * 16 * ring;
    switch (rng.below(4)) {
        case 0:
            return between(rng, 1, 40);
        case 1:
            return between(rng, 100, zigzag);
        case 2:
            return between(rng, zigzag - 2, zigzag + 3);
        default:
            return between(rng, zigzag, 8 * zigzag);
    }
}

Case random_case(std::uint64_t seed) {
    Rng rng(seed);
    Case c{seed,
           {},
           0,
           static_cast<int>(between(rng, 1, 8)),
           rng.below(2) == 0 ? Positions::reset : Positions::running};
    for (std::int64_t n = between(rng, 0, 40); n > 0; --n)
        c.lengths.push_back(random_length(rng, c.ring));
    const std::int64_t multiple = 2 * c.ring * (rng.below(2) == 0 ? 1 : 16);
    const std::int64_t tokens =
        std::accumulate(c.lengths.begin(), c.lengths.end(), std::int64_t{1});
    c.padded = (tokens - 1 + multiple) / multiple * multiple;
    return c;
}

// Document and position of every token of the sequence; padding counts as a document.
std::vector<rm::Run> tokens_of(const Case& c) {
    std::vector<rm::Run> tokens;
    for (std::size_t document = 0; document < c.lengths.size(); ++document) {
        for (std::int64_t i = 0; i < c.lengths[document]; ++i) {
            const std::int64_t position = c.positions == Positions::reset ? i : std::ssize(tokens);
            tokens.push_back({static_cast<std::int32_t>(document), position, 1});
        }
    }
    while (std::ssize(tokens) < c.padded)
        tokens.push_back({kPaddingDocument, std::ssize(tokens), 1});
    return tokens;
}

TEST(PlaceDocuments, PutsEveryTokenInOnePlaceAsWhatItIs) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 200; ++seed) {
        const Case c = random_case(seed);
        SCOPED_TRACE(c);
        const std::vector<rm::Run> tokens = tokens_of(c);
        std::vector<int> seen(tokens.size());
        for (const auto& slot : c.place().slots) {
            for (const Piece& piece : slot) {
                for (std::int64_t i = 0; i < piece.run.length; ++i) {
                    const auto at = static_cast<std::size_t>(piece.first + i);
                    const rm::Run token{piece.run.document, piece.run.first + i, 1};
                    ASSERT_EQ(token, tokens.at(at)) << "token " << at;
                    ++seen[at];
                }
            }
        }
        ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), c.padded);
    }
}

TEST(PlaceDocuments, GivesEverySlotEquallyManyTokensInOrder) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 1000; ++seed) {
        const Case c = random_case(seed);
        const DocumentLayout laid_out = c.place();
        ASSERT_EQ(std::ssize(laid_out.slots), c.ring) << c;
        for (const auto& slot : laid_out.slots) {
            ASSERT_EQ(num_tokens(runs_of(slot)), c.padded / c.ring) << c;
            for (std::size_t i = 0; i + 1 < slot.size(); ++i) {
                const Piece& piece = slot[i];
                const std::int64_t end = piece.first + piece.run.length;
                ASSERT_LE(end, slot[i + 1].first) << c;
                const bool one_run =
                    end == slot[i + 1].first && piece.run.document == slot[i + 1].run.document;
                ASSERT_FALSE(one_run) << c << ", piece " << i;
            }
        }
    }
}

TEST(PlaceDocuments, LosesNoPairAndDoublesNone) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 1000; ++seed) {
        const Case c = random_case(seed);
        std::int64_t pairs = 0;
        for (const auto& step : ring_work(c.place()))
            pairs = std::accumulate(step.begin(), step.end(), pairs);
        ASSERT_EQ(pairs, c.pairs()) << c;
    }
}

TEST(PlaceDocuments, DependsOnItsArgumentsOnly) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 100; ++seed)
        ASSERT_EQ(random_case(seed).place(), random_case(seed).place()) << "seed " << seed;
    // The same on every machine.
    const std::vector<std::int64_t> lengths = {5000, 90, 700, 300, 620, 4, 800};
    const DocumentLayout laid_out = place_documents(lengths, 7552, 2, Positions::reset);
    std::vector<std::vector<rm::Run>> runs = {runs_of(laid_out.slots[0]),
                                              runs_of(laid_out.slots[1])};
    EXPECT_THAT(runs[0], ElementsAre(rm::Run{0, 0, 1250}, rm::Run{0, 3750, 1250}, rm::Run{1, 0, 90},
                                     rm::Run{3, 0, 300}, rm::Run{4, 576, 44}, rm::Run{5, 0, 4},
                                     rm::Run{6, 0, 800}, rm::Run{kPaddingDocument, 7514, 38}));
    EXPECT_THAT(runs[1],
                ElementsAre(rm::Run{0, 1250, 2500}, rm::Run{2, 0, 700}, rm::Run{4, 0, 576}));
}

TEST(PlaceDocuments, OfOneDocumentIsPlainZigzag) {
    for (const int ring : {1, 2, 3, 4, 5, 8}) {
        const std::int64_t padded = 32 * ring * 7;
        for (const std::int64_t context : {padded, padded - 5, std::int64_t{1}}) {
            const std::vector<std::int64_t> one = {context};
            const DocumentLayout laid_out = place_documents(one, padded, ring, Positions::reset);
            for (int slot = 0; slot < ring; ++slot) {
                const auto& pieces = laid_out.slots[static_cast<std::size_t>(slot)];
                EXPECT_EQ(runs_of(pieces), zigzag_runs(context, padded, ring, slot, 0));
                std::int64_t at = 0;
                for (const TokenRange& range : zigzag_ranges(padded, ring, slot)) {
                    for (std::int64_t i = 0; i < range.count; ++i, ++at) {
                        const std::vector<rm::Run> token = slice_runs(runs_of(pieces), at, 1);
                        EXPECT_EQ(token[0].first, range.first + i);
                    }
                }
            }
        }
    }
}

TEST(PlaceDocuments, CutsLongDocumentsInPiecesThatDifferByATokenAtMost) {
    const std::vector<std::int64_t> lengths = {10'007, 20'001, 9'000, 16'000};
    const DocumentLayout laid_out = place_documents(lengths, 55'040, 4, Positions::reset);
    for (std::size_t slot = 0; slot < 4; ++slot) {
        std::vector<std::int64_t> tokens(lengths.size());
        for (const rm::Run& run : runs_of(laid_out.slots[slot])) {
            if (run.document == kPaddingDocument) continue;
            const auto document = static_cast<std::size_t>(run.document);
            tokens[document] += run.length;
            const auto pieces = run.length > lengths[document] / 8 + 1 ? 2 : 1;
            EXPECT_NEAR(static_cast<double>(run.length) / pieces,
                        static_cast<double>(lengths[document]) / 8, 1)
                << run;
        }
        for (std::size_t document = 0; document < lengths.size(); ++document)
            EXPECT_LE(std::abs(tokens[document] * 4 - lengths[document]), 4) << document;
    }
    EXPECT_LT(ring_balance(laid_out).worst_step, 1.002);
}

// The number of runs in which each document lies.
std::vector<int> cuts(const DocumentLayout& laid_out, std::size_t num_documents) {
    std::vector<int> runs(num_documents);
    for (const auto& slot : laid_out.slots) {
        for (const Piece& piece : slot) {
            if (piece.run.document != kPaddingDocument)
                ++runs[static_cast<std::size_t>(piece.run.document)];
        }
    }
    return runs;
}

TEST(PlaceDocuments, LeavesShortDocumentsWhole) {
    const std::vector<std::int64_t> lengths(64, 500);
    const DocumentLayout laid_out = place_documents(lengths, 32'256, 4, Positions::reset);
    EXPECT_THAT(cuts(laid_out, lengths.size()), Each(1));
    EXPECT_EQ(ring_balance(laid_out).overall, 1);
    const std::vector<std::int64_t> at_the_limit(8, 64 * 4 * 16);
    EXPECT_THAT(cuts(place_documents(at_the_limit, 32'768, 4, Positions::reset), 8), Each(1));
}

TEST(PlaceDocuments, CutsOneOfTheShortWhereItIsTooMuchForItsSlot) {
    // Uncut, 4000 tokens do more work than sixteen documents of 600, as many as a slot holds.
    std::vector<std::int64_t> lengths(60, 600);
    lengths[17] = 4000;
    const DocumentLayout laid_out = place_documents(lengths, 39'424, 4, Positions::reset);
    EXPECT_GT(cuts(laid_out, lengths.size())[17], 4);
    EXPECT_LE(ring_balance(laid_out).overall, 1.02);
}

TEST(PlaceDocuments, CutsAtMostOneShortDocumentPerSlotWhereItOnlyEvensTokens) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 200; ++seed) {
        Rng rng(seed);
        Case c{seed, {}, 0, static_cast<int>(between(rng, 2, 8)), Positions::reset};
        for (int n = 0; n < 400; ++n)
            c.lengths.push_back(between(rng, 50, 250));
        const std::int64_t tokens =
            std::accumulate(c.lengths.begin(), c.lengths.end(), std::int64_t{0});
        c.padded = (tokens + 2 * c.ring - 1) / (2 * c.ring) * (2 * c.ring);
        const std::vector<int> runs = cuts(c.place(), c.lengths.size());
        ASSERT_LE(std::accumulate(runs.begin(), runs.end(), 0), 400 + c.ring - 1) << c;
        ASSERT_LE(ring_balance(c.place()).overall, 1.02) << c;
    }
}

TEST(PlaceDocuments, CutsShortDocumentsWhenThereIsNothingElse) {
    const std::vector<std::int64_t> lengths = {40, 50, 38};
    const DocumentLayout laid_out = place_documents(lengths, 128, 8, Positions::running);
    for (const auto& slot : laid_out.slots)
        EXPECT_EQ(num_tokens(runs_of(slot)), 16);
}

TEST(PlaceDocuments, RefusesWhatDoesNotFit) {
    const std::vector<std::int64_t> two = {60, 69}, empty = {60, 0}, one = {129};
    EXPECT_THROW(place_documents(two, 128, 4, Positions::reset), CheckError);
    EXPECT_THROW(place_documents(one, 128, 4, Positions::reset), CheckError);
    EXPECT_THROW(place_documents(empty, 128, 4, Positions::reset), CheckError);
    EXPECT_THROW(place_documents(two, 132, 4, Positions::reset), CheckError);
}

TEST(RingWork, IsWhatEachSlotAttendsToInEachStep) {
    const DocumentLayout laid_out{{{{0, {0, 0, 10}}}, {{10, {0, 10, 10}}}}};
    EXPECT_THAT(ring_work(laid_out), ElementsAre(ElementsAre(55, 55), ElementsAre(0, 100)));
    EXPECT_EQ(ring_balance(laid_out).worst_step, 2);
    EXPECT_DOUBLE_EQ(ring_balance(laid_out).overall, 155.0 / 105);
    EXPECT_EQ(ring_balance(place_documents({}, 64, 2, Positions::reset)).worst_step, 1);
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
