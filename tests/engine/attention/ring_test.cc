// Runs rings of ranks as threads, with the reference kernels on small integers, and checks which
// blocks arrive, which sums result and which bytes leave.
#include "engine/attention/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/attention/ring_rank.h"

namespace rm::test {
namespace {

constexpr std::int64_t kTokens = 3;  // per slot; the parts of a round differ in size
constexpr std::int64_t kBlockBytes = 2 * kTokens * kHeads * kHeadDim * 8;  // f64
constexpr int kLayers = 3;                                                 // they share buffers

// Slots of three tokens, each a document.
RankLayout small_layout(const RingShape& shape, int slot) {
    RankLayout layout;
    layout.slot_tokens = layout.local_tokens = kTokens;
    layout.ring = shape.ring;
    layout.ring_slot = slot;
    layout.ring_order = RingOrder(shape.ring, shape.inner, slot);
    layout.max_slot_chunk = kTokens;
    return layout;
}
SequenceRuns document_per_slot(int ring) {
    SequenceRuns runs;
    for (int slot = 0; slot < ring; ++slot) {
        const std::vector<rm::Run> one = {{.document = slot, .first = 0, .length = kTokens}};
        runs.by_slot.push_back(one);
        runs.key_chunks.push_back({{{0, kTokens}, one}});
    }
    return runs;
}

void run_ring(const RingShape& shape, const std::function<void(RingRank&, int)>& body,
              LocalLinks links = {}) {
    run_ranks(
        shape.mesh(),
        [&](Transport& transport, int rank) {
            RingRank state(transport, shape.mesh(), small_layout(shape, rank),
                           document_per_slot(shape.ring));
            body(state, rank);
            state.finish();
        },
        links);
}

KeysAndValues block_of(int layer, std::size_t slot) {
    return test::block_of(layer, slot, kTokens);
}

// Runs one layer's forward pass; returns the blocks, each copied when the rank saw it.
std::vector<KeysAndValues> see_blocks(RingRank& rank, KeyValue& own,
                                      std::vector<std::size_t>& slots) {
    RingKv kv(rank.buffers, rank.ops, own, rank.runs);
    std::vector<std::pair<TensorView, TensorView>> seen;
    for (std::size_t n = 0; n < kv.num_blocks(0); ++n) {
        const KvBlock block = kv.next();
        slots.push_back(usize(block.runs[0].document));
        seen.push_back(rank.copy(block.k, block.v));
        kv.done();
    }
    rank.synchronize();
    std::vector<KeysAndValues> blocks;
    for (const auto& copied : seen)
        blocks.push_back(rank.read_both(copied));
    return blocks;
}

class Rings : public testing::TestWithParam<RingShape> {
protected:
    int ring() const { return GetParam().ring; }
    int inner() const { return GetParam().inner; }
    int outer() const { return GetParam().outer(); }
    bool is_double() const { return GetParam().is_double(); }
    std::size_t slot_behind(int rank, int round, int step) const {
        const int node = (rank / inner() - round + outer()) % outer();
        return usize(node * inner() + (rank - step + inner()) % inner());
    }

    void expect_sums(const Term& term, LocalLinks links = {}) const {
        run_ring(
            GetParam(),
            [&](RingRank& rank, int me) {
                for (int layer = 0; layer < kLayers; ++layer) {
                    EXPECT_EQ(rank.sum_gradients(term, layer, me),
                              sum_in_order(GetParam(), term, layer, me, kTokens));
                }
                EXPECT_EQ(rank.communicator.counters().bytes_sent,
                          backward_bytes(GetParam(), kBlockBytes, kLayers));
            },
            links);
    }
};

TEST_P(Rings, BringEveryBlockOnceInTheOrderOfTheRounds) {
    run_ring(GetParam(), [&](RingRank& rank, int me) {
        for (int layer = 0; layer < kLayers; ++layer) {
            KeyValue own = rank.own(block_of(layer, usize(me)));
            std::vector<std::size_t> slots;
            const auto blocks = see_blocks(rank, own, slots);
            ASSERT_EQ(std::ssize(blocks), ring());
            for (int n = 0; n < ring(); ++n) {
                const auto i = usize(n);
                EXPECT_EQ(slots[i], slot_behind(me, n / inner(), n % inner()));
                EXPECT_EQ(blocks[i], block_of(layer, slots[i])) << "block " << n;
            }
            std::sort(slots.begin(), slots.end());
            for (std::size_t slot = 0; slot < slots.size(); ++slot)
                EXPECT_EQ(slots[slot], slot);
        }
        EXPECT_EQ(rank.communicator.counters().bytes_sent,
                  forward_bytes(GetParam(), kBlockBytes, kLayers));
    });
}

TEST_P(Rings, BringHomeTheSumOfAllRanks) {
    expect_sums(small_term(kTokens));
}

TEST_P(Rings, DoSoOverSlowLinks) {
    expect_sums(small_term(kTokens), {Seconds{0.001}});
}

TEST_P(Rings, SumInOneOrder) {
    const auto seed = static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed());
    SCOPED_TRACE(seed);
    expect_sums(random_term(seed, kTokens));
}

// Returns the bytes of the ring's hops (of the inner ring if there are two), counted in blocks.
std::int64_t blocks_sent(const RingRank& rank, bool is_double) {
    rank.synchronize();
    const auto bytes = rank.communicator.counters().bytes_sent;
    const auto found = bytes.find(is_double ? "ring_inner ring_shift" : "ring ring_shift");
    return found == bytes.end() ? 0 : found->second / kBlockBytes;
}

// In a backward pass compute can hide every hop: the first leaves before the first block is
// requested, and the last does not wait for the rank's own block, which is the last one.
TEST_P(Rings, MoveNothingBetweenComputeOfABackwardPass) {
    run_ring(GetParam(), [&](RingRank& rank, int me) {
        const int hops = 2 * (ring() - (is_double() ? outer() : 1));
        KeyValue own = rank.own(block_of(0, usize(me)));
        KvGradients gradients(rank.buffers, rank.ops, own, rank.runs);
        EXPECT_EQ(blocks_sent(rank, is_double()), ring() > 1 ? 1 : 0);
        for (std::size_t n = 0; n + 1 < gradients.num_chunks(); ++n) {
            EXPECT_NE(gradients.next().kv.runs[0].document, me) << "block " << n;
            gradients.done();
        }
        EXPECT_EQ(gradients.next().kv.runs[0].document, me);
        EXPECT_EQ(blocks_sent(rank, is_double()), hops);
        gradients.done();
        gradients.finish();
        EXPECT_EQ(blocks_sent(rank, is_double()), hops);
    });
}

INSTANTIATE_TEST_SUITE_P(, Rings,
                         testing::Values(RingShape{1, 1}, RingShape{2, 2}, RingShape{3, 3},
                                         RingShape{4, 4}, RingShape{5, 5}, RingShape{6, 6},
                                         RingShape{4, 2}, RingShape{6, 3}, RingShape{6, 2},
                                         RingShape{8, 2}, RingShape{8, 4}, RingShape{3, 1}),
                         name_of);

TEST(RingBuffers, HoldAsManyForeignBlocksAsTheRingNeeds) {
    const auto blocks = [](int ring, int inner) {
        std::int64_t bytes = 0;
        run_ring(RingShape{ring, inner}, [&](RingRank& rank, int me) {
            if (me != 0) return;
            const RingBuffers::Places places = rank.buffers.make_places();
            for (const KeyValue& place : places) {
                if (place.k.empty()) continue;
                bytes += place.k.shape().num_bytes().value + place.v.shape().num_bytes().value;
            }
        });
        return bytes / kBlockBytes;
    };
    EXPECT_EQ(blocks(1, 1), 0);
    EXPECT_EQ(blocks(2, 2), 1);
    EXPECT_EQ(blocks(5, 5), 2);
    EXPECT_EQ(blocks(4, 2), 1 + 1);
    EXPECT_EQ(blocks(9, 3), 2 + 2);
}

}  // namespace
}  // namespace rm::test
