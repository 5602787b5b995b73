#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/random.h"
#include "engine/attention/kv_gradients.h"
#include "tests/engine/attention/attention_rank.h"

namespace rm::test {

struct RingShape {
    int ring = 1;
    int inner = 1;
    Mesh mesh() const { return Mesh::make(1, ring, 1, 1, inner).value(); }
    int outer() const { return ring / inner; }
    bool is_double() const { return inner > 1 && outer() > 1; }
};

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 2;

// Keys and values of some tokens, or gradients of them.
struct KeysAndValues {
    Numbers k, v;
    bool operator==(const KeysAndValues&) const = default;
    void add(const KeysAndValues& terms) {
        add_to(k, terms.k);
        add_to(v, terms.v);
    }
};
inline KeysAndValues zeros(std::int64_t tokens) {
    const auto size = static_cast<std::size_t>(tokens * kHeads * kHeadDim);
    return {Numbers(size), Numbers(size)};
}
inline KeysAndValues rows_of(const KeysAndValues& all, const TokenRange& range) {
    const auto cut = [&](const Numbers& numbers) {
        const auto first = numbers.begin() + range.first * kHeads * kHeadDim;
        return Numbers(first, first + range.count * kHeads * kHeadDim);
    };
    return {cut(all.k), cut(all.v)};
}

// The keys and values of a slot in a layer.
inline KeysAndValues block_of(int layer, std::size_t slot, std::int64_t tokens) {
    KeysAndValues block = zeros(tokens);
    for (std::size_t i = 0; i < block.k.size(); ++i) {
        block.k[i] = static_cast<double>(layer * 100'000 + static_cast<int>(slot) * 10'000) +
                     static_cast<double>(i);
        block.v[i] = block.k[i] + 5000;
    }
    return block;
}

// A rank adds it to the gradients of a slot in a layer.
using Term = std::function<KeysAndValues(int layer, int rank, std::size_t slot)>;

inline Term small_term(std::int64_t tokens) {
    return [tokens](int layer, int rank, std::size_t slot) {
        KeysAndValues term = zeros(tokens);
        for (std::size_t i = 0; i < term.k.size(); ++i) {
            term.k[i] = static_cast<double>((rank + 1) * (static_cast<int>(i % 7) - 3)) +
                        static_cast<double>(static_cast<int>(slot) * 17 + layer);
            term.v[i] = term.k[i] * 3 - 1;
        }
        return term;
    };
}
// Sums of these tell the order in which they were formed.
inline Term random_term(std::uint64_t seed, std::int64_t tokens) {
    return [seed, tokens](int layer, int rank, std::size_t slot) {
        KeysAndValues term = zeros(tokens);
        const auto stream = static_cast<std::uint64_t>(layer * 1000 + rank) * 1000 + slot;
        for (std::size_t i = 0; i < term.k.size(); ++i) {
            term.k[i] = normal_at(seed, stream, 2 * i);
            term.v[i] = normal_at(seed, stream, 2 * i + 1);
        }
        return term;
    };
}

// One rank of a ring.
class RingRank : public AttentionRank {
public:
    RingRank(Transport& transport, const Mesh& mesh, RankLayout the_layout, SequenceRuns the_runs)
        : AttentionRank(transport, mesh, the_layout.memory),
          layout(std::move(the_layout)),
          runs(std::move(the_runs)),
          buffers(streams, memory, layout, kHeads, kHeadDim) {}

    KeyValue own(const KeysAndValues& block) {
        KeyValue made;
        const auto make = [&](TokenStore& store, const Numbers& numbers) {
            store =
                working_store(memory, {"own"}, DType::f64, {layout.slot_tokens, kHeads, kHeadDim});
            store.set_travels();
            fill(store, numbers);
        };
        make(made.k, block.k);
        make(made.v, block.v);
        return made;
    }

    // A copy of the rows as compute sees them now.
    std::pair<TensorView, TensorView> copy(const TensorView& k, const TensorView& v) {
        const Numbers none(static_cast<std::size_t>(k.num_elements()));
        const std::pair<TensorView, TensorView> made{tensor(none, k), tensor(none, v)};
        ops(Copy{k, made.first});
        ops(Copy{v, made.second});
        return made;
    }
    KeysAndValues read_both(const std::pair<TensorView, TensorView>& copied) {
        return {read(copied.first), read(copied.second)};
    }

    // Runs one layer's backward pass; returns the gradients of the rank's own block. Expects the
    // blocks of the layer on the way.
    KeysAndValues sum_gradients(const Term& term, int layer, int me) {
        KeyValue kv = own(block_of(layer, usize(me), layout.slot_tokens));
        memory.settle();
        KvGradients gradients(buffers, ops, kv, runs);
        std::vector<std::pair<TensorView, TensorView>> seen;
        std::vector<KeysAndValues> expected;
        const std::size_t chunks = runs.chunks_per_block();
        for (std::size_t n = 0; n < gradients.num_chunks(); ++n) {
            const KvGradBlock block = gradients.next();
            const int number = layout.ring_order.backward(static_cast<int>(n / chunks));
            const std::size_t slot = layout.ring_order.slot(number);
            const SlotChunk& chunk = runs.key_chunks[slot][n % chunks];
            EXPECT_TRUE(std::ranges::equal(block.kv.runs, chunk.runs));
            seen.push_back(copy(block.kv.k, block.kv.v));
            expected.push_back(rows_of(block_of(layer, slot, layout.slot_tokens), chunk.range));
            const KeysAndValues rows = rows_of(term(layer, me, slot), chunk.range);
            ops(Add{tensor(rows.k, block.d_k), block.d_k});
            ops(Add{tensor(rows.v, block.d_v), block.d_v});
            gradients.done();
        }
        KeyValue home = gradients.finish();
        const KeysAndValues sum{read(home.k), read(home.v)};
        for (std::size_t n = 0; n < seen.size(); ++n)
            EXPECT_EQ(read_both(seen[n]), expected[n]) << "chunk " << n;
        return sum;
    }

    RankLayout layout;
    SequenceRuns runs;
    RingBuffers buffers;
};

// The sum of all ranks for the gradients of a slot: along the inner ring to the rank that received
// the block, then by round to the home node.
inline KeysAndValues sum_in_order(const RingShape& shape, const Term& term, int layer, int home,
                                  std::int64_t tokens) {
    KeysAndValues sum;
    for (int round = 0; round < shape.outer(); ++round) {
        KeysAndValues round_sum = zeros(tokens);
        for (int step = 1; step <= shape.inner; ++step) {
            const int node = (home / shape.inner + round + 1) % shape.outer();
            const int rank = node * shape.inner + (home + step) % shape.inner;
            round_sum.add(term(layer, rank, usize(home)));
        }
        if (round > 0) round_sum.add(sum);
        sum = round_sum;
    }
    return sum;
}

// One rank sends so many bytes in some passes: blocks of keys and values go along the inner ring
// (or the only one) and along the outer ring.
inline std::map<std::string, std::int64_t> ring_bytes(const RingShape& shape,
                                                      std::int64_t block_bytes, int passes,
                                                      std::int64_t inner_blocks,
                                                      std::int64_t outer_blocks) {
    if (shape.ring == 1) return {};
    if (!shape.is_double()) return {{"ring ring_shift", passes * inner_blocks * block_bytes}};
    return {{"ring_inner ring_shift", passes * inner_blocks * block_bytes},
            {"ring_outer ring_shift", passes * outer_blocks * block_bytes}};
}
inline std::map<std::string, std::int64_t> forward_bytes(const RingShape& shape,
                                                         std::int64_t block_bytes, int passes) {
    const std::int64_t I = shape.inner, O = shape.outer(), R = shape.ring;
    return ring_bytes(shape, block_bytes, passes, shape.is_double() ? O * (I - 1) : R - 1, O - 1);
}
// Blocks and sums have the same type here.
inline std::map<std::string, std::int64_t> backward_bytes(const RingShape& shape,
                                                          std::int64_t block_bytes, int passes) {
    return forward_bytes(shape, 2 * block_bytes, passes);
}

inline std::string name_of(const testing::TestParamInfo<RingShape>& info) {
    return format("{}_of_{}", info.param.ring / info.param.inner, info.param.inner);
}

}  // namespace rm::test
