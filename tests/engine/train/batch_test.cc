#include "engine/train/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "kernels/kernels.h"

namespace rm {
namespace {

constexpr std::uint64_t kSeed = 20'261'122;
constexpr std::int32_t kSequenceStep = 1'000'000;

// Token i of sequence n is n million + i + 1, so every token tells its origin.
std::int32_t token_at(std::size_t sequence, std::int64_t i) {
    return static_cast<std::int32_t>(sequence) * kSequenceStep + static_cast<std::int32_t>(i) + 1;
}

Sample make_sample(std::size_t sequence, std::vector<std::int64_t> documents) {
    Sample sample;
    const std::int64_t context =
        std::accumulate(documents.begin(), documents.end(), std::int64_t{0});
    for (std::int64_t i = 0; i <= context; ++i)
        sample.tokens.push_back(token_at(sequence, i));
    sample.documents = std::move(documents);
    return sample;
}

// Several sequences on a mesh, each cut into its own documents.
struct Case {
    explicit Case(std::uint64_t from) : seed(from), rng(from) {
        const auto size = [&](std::uint64_t most) { return static_cast<int>(1 + rng.below(most)); };
        mesh = Mesh::make(size(3), size(4), size(2), size(2)).value();
        context = 5120 + size(1500);
        positions = rng.below(2) == 0 ? Positions::reset : Positions::running;
        const int count = size(5);
        for (int n = 0; n < count; ++n) {
            std::vector<std::int64_t> documents;
            const std::uint64_t longest = rng.below(3) == 0 ? 4000 : 300;
            for (std::int64_t left = context; left > 0; left -= documents.back())
                documents.push_back(std::min<std::int64_t>(left, size(longest)));
            sequences.push_back(make_sample(static_cast<std::size_t>(n), std::move(documents)));
            sequences.back().ends_document = rng.below(2) == 0;
        }
    }
    RankLayout layout(int rank) const {
        return make_rank_layout(context, mesh, rank, {.tile_tokens = 64, .chunk_tokens = 128})
            .value();
    }
    StepBatch batch(int rank) const {
        return make_step_batch(sequences, layout(rank), mesh, rank, positions);
    }
    // Returns one rank of each tensor group; the others hold the same tokens.
    std::vector<int> ranks() const {
        std::vector<int> ranks;
        for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
            if (mesh.coord(rank, Axis::tensor) == 0) ranks.push_back(rank);
        }
        return ranks;
    }
    std::string name() const {
        return format("seed {}, {}, {} sequences of {}", seed, to_string(mesh), sequences.size(),
                      context);
    }

    std::uint64_t seed;
    Rng rng;
    Mesh mesh;
    std::int64_t context;
    Positions positions;
    std::vector<Sample> sequences;
};

// Document, position and target of one token, and what precedes the target, derived from the
// documents of the sample.
struct Expected {
    std::int32_t document;
    std::int64_t position;
    std::int32_t target;
    std::int64_t context;
};
std::vector<Expected> expected_of(const Case& c, std::size_t sequence) {
    const Sample& sample = c.sequences[sequence];
    std::vector<Expected> all;
    for (std::size_t d = 0; d < sample.documents.size(); ++d) {
        for (std::int64_t i = 0; i < sample.documents[d]; ++i) {
            const std::int64_t at = std::ssize(all);
            all.push_back({static_cast<std::int32_t>(d), c.positions == Positions::reset ? i : at,
                           token_at(sequence, at + 1), i + 1});
        }
        const bool goes_on = d + 1 == sample.documents.size() && !sample.ends_document;
        if (goes_on) continue;
        all.back().target = kIgnoreTarget;
        all.back().context = 0;
    }
    return all;
}

// Calls check(index, run of that one token) for each local token.
template <typename Check>
void for_each_token(const MicroBatch& batch, Check check) {
    std::size_t at = 0;
    for (const rm::Run& run : batch.runs.local) {
        for (std::int64_t i = 0; i < run.length; ++i, ++at)
            check(at, rm::Run{run.document, run.first + i, 1});
    }
    EXPECT_EQ(at, batch.tokens.size());
    EXPECT_EQ(at, batch.targets.size());
    EXPECT_EQ(at, batch.contexts.size());
}

TEST(StepBatch, HoldsEveryTokenOnceWithItsTargetDocumentAndPosition) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 40; ++seed) {
        const Case c(seed);
        SCOPED_TRACE(c.name());
        std::vector<std::vector<Expected>> expected;
        for (std::size_t n = 0; n < c.sequences.size(); ++n)
            expected.push_back(expected_of(c, n));
        std::int64_t seen = 0;
        for (const int rank : c.ranks()) {
            for (const MicroBatch& batch : c.batch(rank).micro_batches) {
                for_each_token(batch, [&](std::size_t i, rm::Run run) {
                    const std::int32_t token = batch.tokens.at(i), target = batch.targets.at(i);
                    if (run.document == kPaddingDocument) {
                        ASSERT_EQ(token, 0);
                        ASSERT_EQ(target, kIgnoreTarget);
                        ASSERT_EQ(batch.contexts.at(i), 0);
                        return;
                    }
                    const auto sequence = static_cast<std::size_t>((token - 1) / kSequenceStep);
                    const auto at = static_cast<std::size_t>((token - 1) % kSequenceStep);
                    const Expected& right = expected.at(sequence).at(at);
                    ASSERT_EQ(target, right.target) << "token " << at;
                    ASSERT_EQ(batch.contexts.at(i), right.context) << "token " << at;
                    ASSERT_EQ(run, (rm::Run{right.document, right.position, 1})) << "token " << at;
                    ++seen;
                });
            }
        }
        // The next test shows that no token is on two ranks.
        ASSERT_EQ(seen, std::ssize(c.sequences) * c.context);
    }
}

TEST(StepBatch, PutsNoTokenOnTwoRanks) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 40; ++seed) {
        const Case c(seed);
        std::vector<std::int32_t> tokens;
        for (const int rank : c.ranks()) {
            for (const MicroBatch& batch : c.batch(rank).micro_batches)
                tokens.insert(tokens.end(), batch.tokens.begin(), batch.tokens.end());
        }
        std::erase(tokens, 0);
        std::sort(tokens.begin(), tokens.end());
        ASSERT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end()) << c.name();
        ASSERT_EQ(std::ssize(tokens), std::ssize(c.sequences) * c.context) << c.name();
    }
}

TEST(StepBatch, CountsTheTargetsOfAllRanksExactly) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 40; ++seed) {
        const Case c(seed);
        std::int64_t targets = 0;
        for (const int rank : c.ranks()) {
            for (const MicroBatch& batch : c.batch(rank).micro_batches)
                targets += std::ssize(batch.targets) -
                           std::count(batch.targets.begin(), batch.targets.end(), kIgnoreTarget);
        }
        for (int rank = 0; rank < c.mesh.num_ranks(); ++rank)
            ASSERT_EQ(c.batch(rank).num_targets, targets) << c.name();
    }
}

TEST(StepBatch, CountsThePairsOfAllRanksExactly) {
    for (std::uint64_t seed = kSeed; seed < kSeed + 40; ++seed) {
        const Case c(seed);
        std::int64_t pairs = 0;
        for (const int rank : c.ranks()) {
            for (const MicroBatch& batch : c.batch(rank).micro_batches) {
                for (const auto& keys : batch.runs.by_slot)
                    pairs += attended_pairs(batch.runs.local, keys);
            }
        }
        for (int rank = 0; rank < c.mesh.num_ranks(); ++rank)
            ASSERT_EQ(c.batch(rank).attended_pairs, pairs) << c.name();
    }
}

TEST(StepBatch, IsTheSameOnAllRanksOfATensorGroup) {
    const Mesh mesh = Mesh::make(1, 2, 2, 4).value();
    const std::vector<Sample> sequences = {make_sample(0, {100, 900, 24})};
    for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
        const int first = rank / 4 * 4;
        const auto batch = [&](int of) {
            const RankLayout layout =
                make_rank_layout(1024, mesh, of, {.tile_tokens = 64, .chunk_tokens = 64}).value();
            return make_step_batch(sequences, layout, mesh, of, Positions::reset).micro_batches[0];
        };
        EXPECT_EQ(batch(rank).tokens, batch(first).tokens);
        EXPECT_EQ(batch(rank).targets, batch(first).targets);
        EXPECT_EQ(batch(rank).runs.local, batch(first).runs.local);
    }
}

TEST(StepBatch, GivesSequencesToDataRanksInTurnAndPaddingWhereThereIsNone) {
    const Mesh mesh = Mesh::make(2, 1, 1, 1).value();
    const std::vector<Sample> sequences = {make_sample(0, {64}), make_sample(1, {64}),
                                           make_sample(2, {64})};
    const RankLayout layout =
        make_rank_layout(64, mesh, 0, {.tile_tokens = 64, .chunk_tokens = 64}).value();
    const StepBatch first = make_step_batch(sequences, layout, mesh, 0, Positions::reset);
    const StepBatch second = make_step_batch(sequences, layout, mesh, 1, Positions::reset);
    ASSERT_EQ(first.micro_batches.size(), 2u);
    ASSERT_EQ(second.micro_batches.size(), 2u);
    EXPECT_EQ(first.micro_batches[0].tokens[0], token_at(0, 0));
    EXPECT_EQ(second.micro_batches[0].tokens[0], token_at(1, 0));
    EXPECT_EQ(first.micro_batches[1].tokens[0], token_at(2, 0));
    EXPECT_THAT(second.micro_batches[1].tokens, testing::Each(0));
    EXPECT_THAT(second.micro_batches[1].targets, testing::Each(kIgnoreTarget));
    EXPECT_EQ(second.micro_batches[1].runs.local[0].document, kPaddingDocument);
    EXPECT_EQ(second.num_targets, 3 * 64);
    EXPECT_EQ(second.attended_pairs, 3 * 64 * 65 / 2);
}

TEST(StepBatch, AsksForTheFirstTokenOfNoDocument) {
    Sample sample = make_sample(0, {10, 1, 53});
    const Mesh mesh;
    const RankLayout layout =
        make_rank_layout(64, mesh, 0, {.tile_tokens = 64, .chunk_tokens = 64}).value();
    const auto targets = [&] {
        return make_step_batch({sample}, layout, mesh, 0, Positions::reset)
            .micro_batches[0]
            .targets;
    };
    std::vector<std::int32_t> expected(64);
    std::iota(expected.begin(), expected.end(), 2);
    expected[9] = expected[10] = kIgnoreTarget;
    EXPECT_EQ(targets(), expected);
    sample.ends_document = true;
    expected[63] = kIgnoreTarget;
    EXPECT_EQ(targets(), expected);
}

TEST(StepBatch, RefusesASampleWhoseDocumentsAreNotItsTokens) {
    const Mesh mesh;
    const RankLayout layout =
        make_rank_layout(64, mesh, 0, {.tile_tokens = 64, .chunk_tokens = 64}).value();
    const auto make = [&](const Sample& sample) {
        make_step_batch({sample}, layout, mesh, 0, Positions::reset);
    };
    EXPECT_NO_THROW(make(make_sample(0, {64})));
    EXPECT_THROW(make(make_sample(0, {63})), CheckError);
    Sample without = make_sample(0, {64});
    without.documents.clear();
    EXPECT_THROW(make(without), CheckError);
}

}  // namespace
}  // namespace rm
