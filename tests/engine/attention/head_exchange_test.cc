// Tile by tile, tokens go to the ranks that attend with some of their heads, and come back.
#include "engine/attention/head_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "base/random.h"
#include "engine/windows/windows.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/engine/attention/attention_rank.h"

namespace rm::test {
namespace {

constexpr std::int64_t kHeadDim = 2;

struct Heads {
    int ulysses = 1;
    int tensor = 1;
    std::int64_t queries = 4;
    std::int64_t keys = 4;
    Mesh mesh() const { return Mesh::make(1, 1, ulysses, tensor).value(); }
    ModelConfig model() const {
        return {.hidden = 12 * tensor,
                .num_query_heads = queries,
                .num_kv_heads = keys,
                .head_dim = kHeadDim,
                .feed_forward = 12 * tensor};
    }
};

RankLayout layout_of(const Heads& heads, int rank, WorkingSet working, int prefetch) {
    MemoryPolicy memory;
    memory.tile_tokens = 12;
    memory.chunk_tokens = 24;
    memory.kept = KeptPlace::host;
    memory.working = working;
    memory.prefetch = prefetch;
    // Tiles and a short one.
    return make_rank_layout(64 * heads.ulysses * heads.tensor, heads.mesh(), rank, memory).value();
}

class ExchangeRank : public AttentionRank {
public:
    ExchangeRank(Transport& transport, const Heads& the_heads, const RankLayout& the_layout,
                 std::unique_ptr<Kernels> backend, MessageNumbers numbers)
        : AttentionRank(transport, the_heads.mesh(), the_layout.memory, std::move(backend)),
          layout(the_layout),
          shapes(the_heads.model(), layout),
          exchange(streams, memory, the_heads.model(), layout, shapes, numbers),
          heads(the_heads) {}

    TokenStore store(DType dtype, std::int64_t num_heads, std::int64_t dim) {
        const auto place = working_place(memory.policy());
        TokenStore made = dim == 0
                              ? TokenStore(memory, {"x"}, place, dtype, {shapes.S, num_heads})
                              : TokenStore(memory, {"x"}, place, dtype, {shapes.S, num_heads, dim});
        made.set_travels();
        return made;
    }
    std::int64_t slot_token(const Tile& tile, std::int64_t row) const {
        return layout.slot_rows(tile.range).first + layout.ulysses_index * tile.range.count + row;
    }
    // The query head of the model that a ulysses rank knows under this number.
    std::int64_t query_head(int ulysses_rank, std::int64_t attended) const {
        const std::int64_t first = layout.tensor_index * shapes.Hq;
        return first + ulysses_rank * shapes.attended_q + attended;
    }
    // Each of its key-value heads serves a run of its query heads.
    std::int64_t key_head(int ulysses_rank, std::int64_t attended) const {
        const std::int64_t run = shapes.attended_q / shapes.attended_kv;
        return query_head(ulysses_rank, attended * run) / (heads.queries / heads.keys);
    }
    std::int64_t first_key_head() const {
        return layout.tensor_index * shapes.Hq / (heads.queries / heads.keys);
    }

    RankLayout layout;
    RankShapes shapes;
    HeadExchange exchange;
    Heads heads;
};

// A number for each element of a head of a token of the slot.
using ValueOf = std::function<double(std::int64_t token, std::int64_t head, std::int64_t d)>;
double small_value(std::int64_t token, std::int64_t head, std::int64_t d) {
    return static_cast<double>((token * 7 + head * 31 + d * 3) % 61 - 30);
}
// e4m3 has each of them in a row of others.
double code_value(std::int64_t token, std::int64_t head, std::int64_t d) {
    return static_cast<double>((token * 7 + head * 31 + d * 3) % 31 - 15);
}
double random_value(std::int64_t token, std::int64_t head, std::int64_t d) {
    return normal_at(20'261'127, static_cast<std::uint64_t>(head * 10 + d),
                     static_cast<std::uint64_t>(token));
}

// The numbers of rows (tokens, heads, dim).
template <typename Token, typename Head>
Numbers numbers(std::int64_t tokens, std::int64_t heads, std::int64_t dim, Token token, Head head,
                const ValueOf& value) {
    Numbers all;
    for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t h = 0; h < heads; ++h) {
            for (std::int64_t d = 0; d < dim; ++d)
                all.push_back(value(token(i), head(h), d));
        }
    }
    return all;
}

class HeadExchanges : public testing::TestWithParam<Heads> {
protected:
    using Body = std::function<void(ExchangeRank&)>;
    static void run(const Body& body, std::unique_ptr<Kernels> (*backend)() = make_ref_kernels,
                    MessageNumbers numbers = MessageNumbers::compute) {
        for (const WorkingSet working : {WorkingSet::whole, WorkingSet::windows}) {
            for (const int prefetch : {0, 1, 2}) {
                if (working == WorkingSet::whole && prefetch > 0) continue;
                SCOPED_TRACE(format("{}, prefetch {}", to_string(working), prefetch));
                run_ranks(GetParam().mesh(), [&](Transport& transport, int index) {
                    const RankLayout layout = layout_of(GetParam(), index, working, prefetch);
                    ExchangeRank rank(transport, GetParam(), layout, backend(), numbers);
                    body(rank);
                    rank.finish();
                });
            }
        }
    }
    static void run_in_fp8(const Body& body) { run(body, make_ref_kernels, MessageNumbers::fp8); }
    // The rows of a tile as its rank has them.
    static Numbers query_rows(const ExchangeRank& rank, const Tile& tile, std::int64_t dim,
                              const ValueOf& value) {
        return numbers(
            tile.range.count, rank.shapes.Hq, dim,
            [&](std::int64_t i) { return rank.slot_token(tile, i); },
            [&](std::int64_t h) { return rank.query_head(0, h); }, value);
    }
    static Numbers key_rows(const ExchangeRank& rank, const Tile& tile, const ValueOf& value) {
        return numbers(
            tile.range.count, rank.shapes.Hk, kHeadDim,
            [&](std::int64_t i) { return rank.slot_token(tile, i); },
            [&](std::int64_t h) { return rank.first_key_head() + h; }, value);
    }
    // The rows of the slot as a ulysses rank attends to them.
    static Numbers attended_queries(const ExchangeRank& rank, std::int64_t dim,
                                    const ValueOf& value) {
        return numbers(
            rank.shapes.S, rank.shapes.attended_q, dim, std::identity{},
            [&](std::int64_t h) { return rank.query_head(rank.layout.ulysses_index, h); }, value);
    }
    static Numbers attended_keys(const ExchangeRank& rank, const ValueOf& value) {
        return numbers(
            rank.shapes.S, rank.shapes.attended_kv, kHeadDim, std::identity{},
            [&](std::int64_t h) { return rank.key_head(rank.layout.ulysses_index, h); }, value);
    }

    // As attention gets them.
    struct Attended {
        explicit Attended(ExchangeRank& rank)
            : q(rank.store(DType::f64, rank.shapes.attended_q, kHeadDim)),
              by_head(rank.store(DType::f64, rank.shapes.attended_q, 0)),
              k(rank.store(DType::f64, rank.shapes.attended_kv, kHeadDim)) {}
        TokenStore q, by_head, k;
    };

    // Sends queries, numbers of query heads, and keys.
    static void send_all(ExchangeRank& rank, Attended& to, const ValueOf& value) {
        TilesToHeads sender(rank.exchange, {{&to.q, rank.exchange.queries()},
                                            {&to.by_head, rank.exchange.queries()},
                                            {&to.k, rank.exchange.keys()}});
        Windows(rank.memory, rank.layout, rank.layout.lanes()).for_each([&](Tile tile) -> TileTask {
            const DType type = to.q.shape().dtype();
            const std::int64_t count = tile.range.count;
            const RankShapes& s = rank.shapes;
            const TensorView q_rows =
                rank.tensor(query_rows(rank, tile, kHeadDim, value), type, {count, s.Hq, kHeadDim});
            const TensorView head_rows =
                rank.tensor(query_rows(rank, tile, 1, value), type, {count, s.Hq});
            const TensorView k_rows =
                rank.tensor(key_rows(rank, tile, value), type, {count, s.Hk, kHeadDim});
            co_await Arrival(rank.layout.lanes() > 1, [] {});
            sender.send(rank.ops, tile, {q_rows, head_rows, k_rows});
        });
        sender.finish(rank.ops);
    }
    // Receives what `from` says, a tile at a time, in tensors of `type`; calls check with the rows.
    struct Wanted {
        TokenStore& store;
        const HeadExchange::HeadRuns& heads;
        std::int64_t num_heads;
        DType travels;
        Into into = Into::overwrite;
    };
    template <typename Check>
    static void receive(ExchangeRank& rank, const Wanted& wanted, Check check) {
        TilesToTokens receiver(rank.exchange, {{&wanted.store, wanted.heads}}, {wanted.travels});
        std::vector<std::pair<Tile, TensorView>> seen;
        Windows(rank.memory, rank.layout, rank.layout.lanes()).for_each([&](Tile tile) -> TileTask {
            const Numbers none(
                static_cast<std::size_t>(tile.range.count * wanted.num_heads * kHeadDim));
            const TensorView rows =
                rank.tensor(none, wanted.travels, {tile.range.count, wanted.num_heads, kHeadDim});
            seen.emplace_back(tile, rows);
            co_await receiver.receive(rank.ops, tile);
            receiver.take(rank.ops, tile, 0, rows, wanted.into);
            receiver.done(tile);
        });
        for (const auto& [tile, rows] : seen)
            check(tile, rank.read(rows));
    }
};

TEST_P(HeadExchanges, BringEveryHeadWhereItIsAttended) {
    run([](ExchangeRank& rank) {
        Attended to(rank);
        send_all(rank, to, random_value);
        EXPECT_EQ(rank.read(to.q), attended_queries(rank, kHeadDim, random_value));
        EXPECT_EQ(rank.read(to.by_head), attended_queries(rank, 1, random_value));
        EXPECT_EQ(rank.read(to.k), attended_keys(rank, random_value));
    });
}

TEST_P(HeadExchanges, BringQueriesBackAsTheyWere) {
    run([](ExchangeRank& rank) {
        Attended to(rank);
        send_all(rank, to, random_value);
        receive(rank, {to.q, rank.exchange.queries(), rank.shapes.Hq, DType::f64},
                [&](const Tile& tile, const Numbers& rows) {
                    EXPECT_EQ(rows, query_rows(rank, tile, kHeadDim, random_value));
                });
    });
}

// Each rank that attended with a key-value head returns a number of its own.
TEST_P(HeadExchanges, SumTheGradientsOfReplicatedHeads) {
    const auto of_rank = [](int ulysses_rank) -> ValueOf {
        return [ulysses_rank](std::int64_t token, std::int64_t head, std::int64_t d) {
            return small_value(token, head, d) * (ulysses_rank + 2);
        };
    };
    run([&](ExchangeRank& rank) {
        const RankShapes& s = rank.shapes;
        TokenStore d_k = rank.store(DType::f64, s.attended_kv, kHeadDim);
        rank.fill(d_k, attended_keys(rank, of_rank(rank.layout.ulysses_index)));
        const ValueOf sum = [&](std::int64_t token, std::int64_t head, std::int64_t d) {
            double total = 0;
            for (int from = 0; from < rank.layout.ulysses; ++from) {
                for (std::int64_t h = 0; h < s.attended_kv; ++h) {
                    if (rank.key_head(from, h) == head) total += of_rank(from)(token, head, d);
                }
            }
            return total;
        };
        receive(rank, {d_k, rank.exchange.keys(), s.Hk, DType::f64, Into::add},
                [&](const Tile& tile, const Numbers& rows) {
                    EXPECT_EQ(rows, key_rows(rank, tile, sum));
                });
    });
}

// Sums of the accumulation type travel in the compute type, which holds these numbers exactly.
TEST_P(HeadExchanges, ConvertWhatTravelsInAnotherType) {
    const auto bf16 = [] { return make_cpu_kernels({.compute = DType::bf16}); };
    run(
        [](ExchangeRank& rank) {
            const RankShapes& s = rank.shapes;
            TokenStore d_q = rank.store(DType::f32, s.attended_q, kHeadDim);
            rank.fill(d_q, attended_queries(rank, kHeadDim, small_value));
            receive(rank, {d_q, rank.exchange.queries(), s.Hq, DType::bf16},
                    [&](const Tile& tile, const Numbers& rows) {
                        EXPECT_EQ(rows, query_rows(rank, tile, kHeadDim, small_value));
                    });
            const std::int64_t others = rank.layout.ulysses - 1;
            const std::int64_t bytes = others * s.T * s.attended_q * kHeadDim * 2;
            std::map<std::string, std::int64_t> expected;
            if (others > 0) expected = {{"ulysses all_to_all", bytes}};
            EXPECT_EQ(rank.communicator.counters().bytes_sent, expected);
        },
        bf16);
}

TEST_P(HeadExchanges, SendEveryRankItsHeadsOnce) {
    run([](ExchangeRank& rank) {
        const RankShapes& s = rank.shapes;
        Attended to(rank);
        send_all(rank, to, small_value);
        rank.finish();
        const std::int64_t others = rank.layout.ulysses - 1;
        const std::int64_t per_token =
            s.attended_q * kHeadDim + s.attended_q + s.attended_kv * kHeadDim;
        std::map<std::string, std::int64_t> expected;
        if (others > 0) expected = {{"ulysses all_to_all", others * s.T * per_token * 8}};
        EXPECT_EQ(rank.communicator.counters().bytes_sent, expected);
    });
}

TEST_P(HeadExchanges, SendAndReturnCodes) {
    run_in_fp8([](ExchangeRank& rank) {
        const RankShapes& s = rank.shapes;
        Attended to(rank);
        send_all(rank, to, code_value);
        EXPECT_EQ(rank.read(to.q), attended_queries(rank, kHeadDim, code_value));
        EXPECT_EQ(rank.read(to.by_head), attended_queries(rank, 1, code_value));
        EXPECT_EQ(rank.read(to.k), attended_keys(rank, code_value));
        receive(rank, {to.q, rank.exchange.queries(), s.Hq, DType::f64},
                [&](const Tile& tile, const Numbers& rows) {
                    EXPECT_EQ(rows, query_rows(rank, tile, kHeadDim, code_value));
                });
        rank.finish();
        // A row of two numbers is a word of codes and a factor; numbers of heads travel as they
        // are.
        const std::int64_t others = rank.layout.ulysses - 1;
        const std::int64_t per_token = 8 * (2 * s.attended_q + s.attended_kv) + 8 * s.attended_q;
        std::map<std::string, std::int64_t> expected;
        if (others > 0) expected = {{"ulysses all_to_all", others * s.T * per_token}};
        EXPECT_EQ(rank.communicator.counters().bytes_sent, expected);
    });
}

// The rows of a rank's own tokens stay as they are.
TEST_P(HeadExchanges, RoundWhatTravelsAlone) {
    run_in_fp8([](ExchangeRank& rank) {
        Attended to(rank);
        send_all(rank, to, random_value);
        const Numbers exact = attended_queries(rank, kHeadDim, random_value);
        const Numbers got = rank.read(to.q);
        const std::int64_t row = rank.shapes.attended_q * kHeadDim;
        std::vector<bool> own(usize(rank.shapes.S));
        for (const Chunk& chunk : rank.layout.chunks) {
            for (const Tile& tile : chunk) {
                for (std::int64_t i = 0; i < tile.range.count; ++i)
                    own[usize(rank.slot_token(tile, i))] = true;
            }
        }
        std::int64_t num_rounded = 0;
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const bool is_own = own[i / usize(row)];
            EXPECT_NEAR(got[i], exact[i], is_own ? 0 : std::abs(exact[i]) / 16 + 1e-3) << i;
            num_rounded += got[i] != exact[i];
        }
        EXPECT_EQ(num_rounded > 0, rank.layout.ulysses > 1);
    });
}

INSTANTIATE_TEST_SUITE_P(
    , HeadExchanges,
    testing::Values(Heads{2, 1, 4, 4}, Heads{2, 1, 4, 2}, Heads{2, 1, 4, 1}, Heads{4, 1, 4, 2},
                    Heads{3, 1, 6, 2}, Heads{2, 2, 8, 2}, Heads{2, 2, 4, 1},
                    // Attention uses copies of heads although tokens stay here.
                    Heads{1, 3, 6, 2}),
    [](const auto& info) {
        const Heads& h = info.param;
        return format("Ulysses{}Tensor{}Heads{}Of{}", h.ulysses, h.tensor, h.keys, h.queries);
    });

TEST(HeadExchange, IsLeftOutWhereBothSidesAreTheSame) {
    const auto is_direct = [](const Heads& heads) {
        bool direct = false;
        run_ranks(heads.mesh(), [&](Transport& transport, int rank) {
            const RankLayout layout = layout_of(heads, rank, WorkingSet::whole, 0);
            const ExchangeRank one(transport, heads, layout, make_ref_kernels(),
                                   MessageNumbers::compute);
            if (rank == 0) direct = one.exchange.direct();
        });
        return direct;
    };
    EXPECT_TRUE(is_direct({1, 1, 4, 2}));
    EXPECT_TRUE(is_direct({1, 2, 4, 2}));
    EXPECT_FALSE(is_direct({2, 1, 4, 4}));
    EXPECT_FALSE(is_direct({1, 3, 6, 2}));
}

}  // namespace
}  // namespace rm::test
