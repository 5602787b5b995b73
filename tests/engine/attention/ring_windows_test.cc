// Rings whose tokens lie on the host bring the same numbers in the same order, chunk by chunk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/attention/host_kv.h"
#include "tests/engine/attention/ring_rank.h"

namespace rm::test {
namespace {

constexpr std::int64_t kTokens = 64;                                       // per slot
constexpr std::int64_t kBlockBytes = 2 * kTokens * kHeads * kHeadDim * 8;  // f64
constexpr int kLayers = 2;

// A sequence of documents on a ring; its chunks differ in size from slot to slot.
class Sequence {
public:
    Sequence(const RingShape& shape, std::uint64_t seed, int prefetch) : shape_(shape) {
        Rng rng(seed);
        memory_.tile_tokens = static_cast<std::int64_t>(4 + rng.below(9));
        memory_.chunk_tokens = memory_.tile_tokens * static_cast<std::int64_t>(1 + rng.below(3));
        memory_.prefetch = prefetch;
        memory_.kept = KeptPlace::host;
        context_ = kTokens * shape.ring - static_cast<std::int64_t>(rng.below(6));
        const std::uint64_t longest = rng.below(3) == 0 ? 400 : 30;
        for (std::int64_t left = context_; left > 0; left -= documents_.back()) {
            const auto length = static_cast<std::int64_t>(1 + rng.below(longest));
            documents_.push_back(std::min(left, length));
        }
    }
    RankLayout layout(int rank, WorkingSet working) const {
        MemoryPolicy memory = memory_;
        memory.working = working;
        return make_rank_layout(context_, shape_.mesh(), rank, memory).value();
    }
    SequenceRuns runs(const RankLayout& layout) const {
        return make_sequence_runs(
            place_documents(documents_, layout.padded, shape_.ring, Positions::reset), layout);
    }
    // Calls body(rank, index) for each rank; returns what each sent.
    using Bytes = std::vector<std::map<std::string, std::int64_t>>;
    template <typename Body>
    Bytes run(WorkingSet working, Body body) const {
        Bytes sent(usize(shape_.ring));
        run_ranks(shape_.mesh(), [&](Transport& transport, int index) {
            const RankLayout own = layout(index, working);
            RingRank rank(transport, shape_.mesh(), own, runs(own));
            body(rank, index);
            rank.finish();
            sent[usize(index)] = rank.communicator.counters().bytes_sent;
        });
        return sent;
    }

private:
    RingShape shape_;
    MemoryPolicy memory_;
    std::int64_t context_ = 0;
    std::vector<std::int64_t> documents_;
};

// Compute saw a chunk, of which the contents are known.
struct SeenChunk {
    std::pair<TensorView, TensorView> copied;
    KeysAndValues expected;
};

class RingsInWindows : public testing::TestWithParam<RingShape> {
protected:
    static std::uint64_t base_seed() {
        return static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed());
    }
    template <typename Check>
    void for_each_sequence(Check check) const {
        for (std::uint64_t seed = base_seed(); seed < base_seed() + 4; ++seed) {
            const int prefetch = static_cast<int>(seed % 3);
            SCOPED_TRACE(format("seed {}, prefetch {}", seed, prefetch));
            check(Sequence(GetParam(), seed, prefetch), seed);
        }
    }
};

void expect_visible_chunks(RingRank& rank, int me, int layer) {
    const SequenceRuns& runs = rank.runs;
    KeyValue own = rank.own(block_of(layer, usize(me), kTokens));
    rank.memory.settle();
    std::vector<SeenChunk> seen;
    {
        HostKv kv(rank.buffers, own, runs);
        std::size_t pair = 0;
        for (std::size_t group = 0; group < runs.query_groups.size(); ++group) {
            for (std::size_t n = 0; n < kv.num_blocks(group); ++n, ++pair) {
                ASSERT_EQ(runs.by_queries[pair].outer, group);
                const std::size_t key = runs.by_queries[pair].inner;
                const std::size_t chunks = runs.chunks_per_block();
                const std::size_t slot =
                    rank.layout.ring_order.slot(static_cast<int>(key / chunks));
                const SlotChunk& chunk = runs.key_chunks[slot][key % chunks];
                const KvBlock block = kv.next();
                EXPECT_TRUE(std::ranges::equal(block.runs, chunk.runs));
                seen.push_back({rank.copy(block.k, block.v),
                                rows_of(block_of(layer, slot, kTokens), chunk.range)});
                kv.done();
            }
        }
        EXPECT_EQ(pair, runs.by_queries.size());
    }
    for (std::size_t n = 0; n < seen.size(); ++n)
        EXPECT_EQ(rank.read_both(seen[n].copied), seen[n].expected) << "chunk " << n;
}

TEST_P(RingsInWindows, BringEveryVisibleChunkWithItsContents) {
    for_each_sequence([](const Sequence& sequence, std::uint64_t) {
        sequence.run(WorkingSet::windows, [](RingRank& rank, int me) {
            for (int layer = 0; layer < kLayers; ++layer)
                expect_visible_chunks(rank, me, layer);
        });
    });
}

TEST_P(RingsInWindows, SendWhatBlocksOnTheDeviceSend) {
    for_each_sequence([&](const Sequence& sequence, std::uint64_t) {
        const Sequence::Bytes forward =
            sequence.run(WorkingSet::windows, [](RingRank& rank, int me) {
                KeyValue own = rank.own(block_of(0, usize(me), kTokens));
                HostKv(rank.buffers, own, rank.runs);
            });
        EXPECT_THAT(forward, testing::Each(forward_bytes(GetParam(), kBlockBytes, 1)));
    });
}

TEST_P(RingsInWindows, BringHomeTheSumOfAllRanks) {
    for_each_sequence([&](const Sequence& sequence, std::uint64_t) {
        const Term term = small_term(kTokens);
        const Sequence::Bytes sent = sequence.run(WorkingSet::windows, [&](RingRank& rank, int me) {
            for (int layer = 0; layer < kLayers; ++layer) {
                EXPECT_EQ(rank.sum_gradients(term, layer, me),
                          sum_in_order(GetParam(), term, layer, me, kTokens));
            }
        });
        EXPECT_THAT(sent, testing::Each(backward_bytes(GetParam(), kBlockBytes, kLayers)));
    });
}

TEST_P(RingsInWindows, SumInTheOrderOfBlocksOnTheDevice) {
    for_each_sequence([&](const Sequence& sequence, std::uint64_t seed) {
        const Term term = random_term(seed, kTokens);
        const auto sums = [&](WorkingSet working) {
            std::vector<KeysAndValues> all(usize(GetParam().ring));
            sequence.run(working, [&](RingRank& rank, int me) {
                all[usize(me)] = rank.sum_gradients(term, 0, me);
            });
            return all;
        };
        EXPECT_EQ(sums(WorkingSet::windows), sums(WorkingSet::whole));
    });
}

INSTANTIATE_TEST_SUITE_P(, RingsInWindows,
                         testing::Values(RingShape{1, 1}, RingShape{2, 2}, RingShape{3, 3},
                                         RingShape{4, 4}, RingShape{5, 5}, RingShape{6, 6},
                                         RingShape{4, 2}, RingShape{6, 3}, RingShape{6, 2}),
                         name_of);

TEST(RingInWindows, HasChunksOfUnequalSize) {
    const RingShape shape{4, 2};
    std::set<std::int64_t> sizes;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const Sequence sequence(shape, seed, 1);
        const SequenceRuns runs = sequence.runs(sequence.layout(0, WorkingSet::windows));
        for (const std::vector<SlotChunk>& chunks : runs.key_chunks)
            sizes.insert(chunks[0].range.count);
    }
    EXPECT_GT(sizes.size(), 4u) << "the other tests would show little";
}

}  // namespace
}  // namespace rm::test
