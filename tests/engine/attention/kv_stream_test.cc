// Runs rings of ranks as threads, with the reference kernels on small integers, and checks which
// blocks arrive, which sums result and which bytes leave.
#include "engine/attention/kv_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <thread>

#include "base/random.h"
#include "engine/comm/staged_communicator.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/engine/windows/plain_arena.h"

namespace rm {
namespace {

constexpr std::int64_t kTokens = 3;  // per slot; the parts of a round differ in size
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 2;
constexpr std::int64_t kBlock = 2 * kTokens * kHeads * kHeadDim;  // elements of keys and values
constexpr int kLayers = 3;                                        // they share buffers

using Numbers = std::vector<double>;

struct RingShape {
    int ring = 1;
    int inner = 1;
    Mesh mesh() const { return Mesh::make(1, ring, 1, 1, inner).value(); }
};

// One rank as the engine wires it.
class RingRank {
public:
    RingRank(Transport& transport, const Mesh& mesh)
        : communicator(transport, kernels->device(), *communication, mesh, progress),
          streams{*kernels, *compute, *communication, communicator, *to_host, *from_host, order},
          memory(streams, arena, arena, {}),
          buffers(streams, memory, kTokens, kHeads, kHeadDim),
          ops(*kernels, {}, *compute) {
        for (int slot = 0; slot < mesh.size(Axis::ring); ++slot) {
            slot_runs.push_back({{.document = slot, .first = 0, .length = kTokens}});
        }
    }

    Tensor tensor(const Numbers& numbers) const {
        Tensor made(kernels->device(), MemoryKind::data, DType::f64,
                    {2 * kTokens, kHeads, kHeadDim});
        kernels->device().write(numbers.data(), made);
        return made;
    }
    Numbers read(const TensorView& x) const {
        Numbers numbers(static_cast<std::size_t>(x.num_elements()));
        kernels->device().read(x, numbers.data());
        return numbers;
    }
    void synchronize() const {
        compute->synchronize();
        communication->synchronize();
    }

    std::unique_ptr<Kernels> kernels = make_ref_kernels();
    std::unique_ptr<Stream> compute = kernels->device().make_stream("compute");
    std::unique_ptr<Stream> communication = kernels->device().make_host_stream("communication");
    std::unique_ptr<Stream> to_host = kernels->device().make_stream("to-host");
    std::unique_ptr<Stream> from_host = kernels->device().make_stream("from-host");
    CommProgress progress;
    StagedCommunicator communicator;
    test::PlainArena arena{kernels->device()};
    StreamOrder order;
    RankStreams streams;
    StepMemory memory;
    RingBuffers buffers;
    Ops ops;
    std::vector<std::vector<Run>> slot_runs;
};

void run_ring(const Mesh& mesh, LocalLinks links, const std::function<void(RingRank&, int)>& body) {
    const auto hub = make_local_hub(mesh.num_ranks(), links);
    std::vector<std::string> errors(static_cast<std::size_t>(mesh.num_ranks()));
    const auto run_rank = [&](int rank) {
        const auto index = static_cast<std::size_t>(rank);
        try {
            const auto transport = make_local_transport(hub, {.rank = rank,
                                                              .num_ranks = mesh.num_ranks(),
                                                              .peers = peers_of(mesh)[index],
                                                              .timeout = Seconds{30}});
            RingRank state(*transport, mesh);
            body(state, rank);
        } catch (const std::exception& error) {
            errors[index] = error.what();
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < mesh.num_ranks(); ++rank)
        threads.emplace_back(run_rank, rank);
    for (auto& thread : threads)
        thread.join();
    for (std::size_t rank = 0; rank < errors.size(); ++rank)
        EXPECT_EQ(errors[rank], "") << "rank " << rank;
}

// Returns the keys and values of a slot in a layer.
Numbers block_of(int layer, std::size_t slot) {
    Numbers numbers(static_cast<std::size_t>(kBlock));
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<double>(layer * 10'000 + static_cast<int>(slot) * 100) +
                     static_cast<double>(i);
    return numbers;
}

// Returns the term that a rank adds to the gradients of a slot.
Numbers small_term(int layer, int rank, std::size_t slot) {
    Numbers numbers(static_cast<std::size_t>(kBlock));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<double>((rank + 1) * (static_cast<int>(i % 7) - 3)) +
                     static_cast<double>(static_cast<int>(slot) * 17 + layer);
    }
    return numbers;
}

void add_to(Numbers& sum, const Numbers& terms) {
    for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += terms[i];
}

using Term = std::function<Numbers(int layer, int rank, std::size_t slot)>;

// Runs one layer's forward pass; returns the blocks, each copied when the rank saw it.
std::vector<Numbers> see_blocks(RingRank& rank, const TensorView& own,
                                std::vector<std::size_t>& slots) {
    RingKv kv(rank.buffers, rank.ops, own, rank.slot_runs);
    std::vector<Tensor> seen;
    for (int n = 0; n < kv.num_blocks(0); ++n) {
        const KvBlock block = kv.next();
        slots.push_back(static_cast<std::size_t>(block.runs[0].document));
        const Tensor& copy = seen.emplace_back(rank.tensor(Numbers(kBlock)));
        rank.ops(Copy{block.k, copy->rows(0, kTokens)});
        rank.ops(Copy{block.v, copy->rows(kTokens, kTokens)});
        kv.done();
    }
    rank.synchronize();
    std::vector<Numbers> blocks;
    for (const Tensor& copy : seen)
        blocks.push_back(rank.read(copy));
    return blocks;
}

// Runs one layer's backward pass; returns the gradients of the rank's own block.
Numbers sum_gradients(RingRank& rank, const TensorView& own, const Term& term, int layer, int me) {
    RingKvGrad grad(rank.buffers, rank.ops, own, rank.slot_runs);
    std::vector<Tensor> terms;
    for (int n = 0; n < grad.num_blocks(0); ++n) {
        const KvGradBlock block = grad.next();
        const auto slot = static_cast<std::size_t>(block.kv.runs[0].document);
        const Tensor& added = terms.emplace_back(rank.tensor(term(layer, me, slot)));
        rank.ops(Add{added->rows(0, kTokens), block.d_k});
        rank.ops(Add{added->rows(kTokens, kTokens), block.d_v});
        grad.done();
    }
    const Tensor home = rank.tensor(Numbers(kBlock));
    rank.ops(Copy{grad.finish().both, home});
    rank.synchronize();
    return rank.read(home);
}

class Rings : public ::testing::TestWithParam<RingShape> {
protected:
    int ring() const { return GetParam().ring; }
    int inner() const { return GetParam().inner; }
    int outer() const { return ring() / inner(); }
    bool is_double() const { return inner() > 1 && outer() > 1; }
    std::size_t slot_behind(int rank, int round, int step) const {
        const int node = (rank / inner() - round + outer()) % outer();
        return static_cast<std::size_t>(node * inner() + (rank - step + inner()) % inner());
    }

    // Counts keys and values in f64; a pass per layer.
    void expect_bytes(const RingRank& rank, std::int64_t inner_blocks,
                      std::int64_t outer_blocks) const {
        std::map<std::string, std::int64_t> expected;
        const auto bytes = [](std::int64_t blocks) { return kLayers * blocks * kBlock * 8; };
        if (is_double()) {
            expected = {{"ring_inner ring_shift", bytes(inner_blocks)},
                        {"ring_outer ring_shift", bytes(outer_blocks)}};
        } else if (ring() > 1) {
            expected = {{"ring ring_shift", bytes(inner_blocks)}};
        }
        EXPECT_EQ(rank.communicator.counters().bytes_sent, expected);
    }

    void expect_sums(const Term& term, const std::function<Numbers(int layer, int home)>& expected,
                     LocalLinks links = {}) const {
        run_ring(GetParam().mesh(), links, [&](RingRank& rank, int me) {
            const auto slot = static_cast<std::size_t>(me);
            for (int layer = 0; layer < kLayers; ++layer) {
                const Tensor own = rank.tensor(block_of(layer, slot));
                EXPECT_EQ(sum_gradients(rank, own, term, layer, me), expected(layer, me));
            }
            const std::int64_t R = ring(), I = inner(), O = outer();
            if (is_double()) {
                expect_bytes(rank, 2 * O * (I - 1), 2 * (O - 1));
            } else {
                expect_bytes(rank, 2 * (R - 1), 0);
            }
        });
    }
};

TEST_P(Rings, BringEveryBlockOnceInTheOrderOfTheRounds) {
    run_ring(GetParam().mesh(), {}, [&](RingRank& rank, int me) {
        for (int layer = 0; layer < kLayers; ++layer) {
            const Tensor own = rank.tensor(block_of(layer, static_cast<std::size_t>(me)));
            std::vector<std::size_t> slots;
            const auto blocks = see_blocks(rank, own, slots);
            ASSERT_EQ(std::ssize(blocks), ring());
            for (int n = 0; n < ring(); ++n) {
                const auto i = static_cast<std::size_t>(n);
                EXPECT_EQ(slots[i], slot_behind(me, n / inner(), n % inner()));
                EXPECT_EQ(blocks[i], block_of(layer, slots[i])) << "block " << n;
            }
            std::sort(slots.begin(), slots.end());
            for (std::size_t slot = 0; slot < slots.size(); ++slot)
                EXPECT_EQ(slots[slot], slot);
        }
        const std::int64_t R = ring(), I = inner(), O = outer();
        expect_bytes(rank, is_double() ? O * (I - 1) : R - 1, O - 1);
    });
}

TEST_P(Rings, BringHomeTheSumOfAllRanks) {
    expect_sums(small_term, [&](int layer, int home) {
        Numbers sum(static_cast<std::size_t>(kBlock));
        for (int rank = 0; rank < ring(); ++rank)
            add_to(sum, small_term(layer, rank, static_cast<std::size_t>(home)));
        return sum;
    });
}

TEST_P(Rings, DoSoOverSlowLinks) {
    expect_sums(small_term,
                [&](int layer, int home) {
                    Numbers sum(static_cast<std::size_t>(kBlock));
                    for (int rank = 0; rank < ring(); ++rank)
                        add_to(sum, small_term(layer, rank, static_cast<std::size_t>(home)));
                    return sum;
                },
                {Seconds{0.001}});
}

// Sums along the inner ring to the rank that received the block, then by round to the home node.
TEST_P(Rings, SumInOneOrder) {
    const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
    SCOPED_TRACE(seed);
    const Term random = [&](int layer, int rank, std::size_t slot) {
        Numbers numbers(static_cast<std::size_t>(kBlock));
        const auto stream = static_cast<std::uint64_t>(layer * 1000 + rank) * 1000 + slot;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = normal_at(seed, stream, i);
        return numbers;
    };
    expect_sums(random, [&](int layer, int home) {
        Numbers sum;
        for (int round = 0; round < outer(); ++round) {
            Numbers round_sum(static_cast<std::size_t>(kBlock));
            for (int step = 1; step <= inner(); ++step) {
                const int node = (home / inner() + round + 1) % outer();
                const int rank = node * inner() + (home + step) % inner();
                add_to(round_sum, random(layer, rank, static_cast<std::size_t>(home)));
            }
            if (round > 0) add_to(round_sum, sum);
            sum = round_sum;
        }
        return sum;
    });
}

// Returns the bytes of the ring's hops (of the inner ring if there are two), counted in blocks.
std::int64_t blocks_sent(const RingRank& rank, bool is_double) {
    rank.synchronize();
    const auto bytes = rank.communicator.counters().bytes_sent;
    const auto found = bytes.find(is_double ? "ring_inner ring_shift" : "ring ring_shift");
    return found == bytes.end() ? 0 : found->second / (kBlock * 8);
}

// In a backward pass compute can hide every hop: the first leaves before the first block is
// requested, and the last does not wait for the rank's own block, which is the last one.
TEST_P(Rings, MoveNothingBetweenComputeOfABackwardPass) {
    run_ring(GetParam().mesh(), {}, [&](RingRank& rank, int me) {
        const int hops = 2 * (ring() - (is_double() ? outer() : 1));
        const Tensor own = rank.tensor(block_of(0, static_cast<std::size_t>(me)));
        RingKvGrad grad(rank.buffers, rank.ops, own, rank.slot_runs);
        EXPECT_EQ(blocks_sent(rank, is_double()), ring() > 1 ? 1 : 0);
        for (int n = 0; n + 1 < grad.num_blocks(0); ++n) {
            EXPECT_NE(grad.next().kv.runs[0].document, me) << "block " << n;
            grad.done();
        }
        EXPECT_EQ(grad.next().kv.runs[0].document, me);
        EXPECT_EQ(blocks_sent(rank, is_double()), hops);
        grad.done();
        grad.finish();
        EXPECT_EQ(blocks_sent(rank, is_double()), hops);
    });
}

INSTANTIATE_TEST_SUITE_P(, Rings,
                         ::testing::Values(RingShape{1, 1}, RingShape{2, 2}, RingShape{3, 3},
                                           RingShape{4, 4}, RingShape{5, 5}, RingShape{6, 6},
                                           RingShape{4, 2}, RingShape{6, 3}, RingShape{6, 2},
                                           RingShape{8, 2}, RingShape{8, 4}, RingShape{3, 1}),
                         [](const auto& info) {
                             return format("{}_of_{}", info.param.ring / info.param.inner,
                                           info.param.inner);
                         });

TEST(RingBuffers, HoldAsManyForeignBlocksAsTheRingNeeds) {
    const auto blocks = [](int ring, int inner) {
        std::int64_t bytes = 0;
        run_ring(RingShape{ring, inner}.mesh(), {}, [&](RingRank& rank, int me) {
            if (me != 0) return;
            const RingBuffers::Blocks made = rank.buffers.make_blocks();
            for (const ArenaTensor& block : made) {
                if (!block.empty()) bytes += block->num_bytes().value;
            }
        });
        return bytes / (kBlock * 8);
    };
    EXPECT_EQ(blocks(1, 1), 0);
    EXPECT_EQ(blocks(2, 2), 1);
    EXPECT_EQ(blocks(5, 5), 2);
    EXPECT_EQ(blocks(4, 2), 1 + 1);
    EXPECT_EQ(blocks(9, 3), 2 + 2);
}

}  // namespace
}  // namespace rm
