#pragma once

#include <type_traits>

#include "kernels/device/attention/attention_bwd.cuh"

// The gradients of keys and values: d_v += p^T d_out, d_k += d_s^T q, and with atomics
// d_q += d_s k. A block has one head of a tile of keys, a warp 16 of them with both gradients in
// registers; the queries that see them stream through shared memory in steps of 32, every query
// head of the group in turn, so that d_k and d_v need neither atomics nor a second sum.
//
// Scores are computed with keys as rows (s^T = k q^T): the registers that receive p^T and d_s^T are
// laid out as the left operands of d_v and d_k, so only d_q needs d_s in shared memory.
//
// The sums of a key start from memory and take 16 queries at a time, counted from the start of
// their run, for one head after the other within a step: cutting a call at multiples of kStep from
// the start of runs changes no bit of d_k and d_v. The sum of d_q by atomics has no order.
namespace rm::device {

enum class QueryGradient { elsewhere, by_atomics };

template <int kHead, int kWarps, QueryGradient kQueryGradient>
struct AttentionBackwardKeys {
    static constexpr bool kAddsQueries = kQueryGradient == QueryGradient::by_atomics;
    static constexpr const char* kName = kAddsQueries ? "attention_bwd_atomic" : "attention_bwd_kv";
    static constexpr int kThreads = 32 * kWarps;
    static constexpr int kRows = 16 * kWarps;  // keys
    static constexpr int kStep = 32;           // queries that stream through shared memory together
    static constexpr int kPart = 16;           // queries whose scores a warp holds
    static constexpr int kMinBlocks = (kHead == 64 ? 12 : 8) / kWarps;
    static_assert(kHead == 64 || kHead == 128, "registers hold 16 rows of one head per warp");
    static_assert(kStep % kPart == 0 && kPart % 16 == 0, "mma sums over 16 queries");
    static_assert(kThreads >= kStep, "one thread per query fetches its lse and delta");

    struct Nothing {};
    struct Shared {
        SharedTile<kRows, kHead> k;
        SharedTile<kStep, kHead> q[2];
        SharedTile<kStep, kHead> d_out[2];
        ScoreStats stats[2][kStep];
        RunTile keys;
        std::conditional_t<kAddsQueries, SharedTile<kRows, kStep>, Nothing> d_s;  // (keys, queries)
    };
    using Params = AttentionBackwardParams;
    using Scores = RegisterTile<kMmaRows, kPart>;  // (keys, queries)
    struct KeySums {
        RegisterTile<kMmaRows, kHead> d_k, d_v;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const int kv_head = simt::block_x() / p.num_tiles;
        if (simt::thread() == 0)
            shared.keys = tile_at<kRows>(p.kv_runs, simt::block_x() % p.num_tiles);
        simt::sync_block();
        const RunTile& tile = shared.keys;
        QueryWalk<kStep> walk(p.q_runs, tile, p.group);
        RunTile next;
        int next_head;
        if (!walk.next(next, next_head)) return;  // no query sees these keys: d_k and d_v stay
        copy_async<kThreads>(shared.k, head_rows(p.k, p.Hk, p.D, kv_head, tile.token, tile.count));
        copy(p, shared, 0, next, kv_head * p.group + next_head);
        RowStats fetched = fetch_stats(p, kv_head * p.group + next_head, next);

        const WarpRows keys(tile);
        OperandTile<kMmaRows, kHead> v;
        load(v, head_rows(p.v, p.Hk, p.D, kv_head, keys.token, keys.count));
        KeySums sums;
        load(sums.d_k, rows_of(p.d_k, p, shared, kv_head));
        load(sums.d_v, rows_of(p.d_v, p, shared, kv_head));

        bool more = true;
        for (int stage = 0; more; stage ^= 1) {
            const RunTile queries = next;
            const int head = kv_head * p.group + next_head;
            publish_stats(shared.stats[stage], fetched, p.scale);
            more = walk.next(next, next_head);
            simt::cp_async_wait<0>();
            simt::sync_block();
            if (more) {
                copy(p, shared, stage ^ 1, next, kv_head * p.group + next_head);
                fetched = fetch_stats(p, kv_head * p.group + next_head, next);
            }
            add_step(sums, v, shared, stage, keys, queries, p);
            if constexpr (kAddsQueries) {
                simt::sync_block();
                add_query_gradients(
                    shared, head_rows(p.d_q, p.Hq, p.D, head, queries.token, queries.count));
            }
        }
        store(rows_of(p.d_k, p, shared, kv_head), sums.d_k);
        store(rows_of(p.d_v, p, shared, kv_head), sums.d_v);
    }

    SIMT_FN static void copy(const Params& p, Shared& shared, int stage, const RunTile& queries,
                             int head) {
        const auto rows = [&](const std::uint16_t* from) {
            return head_rows(from, p.Hq, p.D, head, queries.token, queries.count);
        };
        copy_async<kThreads>(shared.q[stage], rows(p.q));
        copy_async<kThreads>(shared.d_out[stage], rows(p.d_out));
        simt::cp_async_commit();
    }
    // The sums of this warp's keys in memory; the rows are read again, not kept.
    SIMT_FN static HeadRows<float> rows_of(float* sums, const Params& p, Shared& shared,
                                           int kv_head) {
        const WarpRows rows(shared.keys);
        return head_rows(sums, p.Hk, p.D, kv_head, rows.token, rows.count);
    }

    SIMT_FN static void add_step(KeySums& sums, const OperandTile<kMmaRows, kHead>& v,
                                 Shared& shared, int stage, const WarpRows& keys,
                                 const RunTile& queries, const Params& p) {
        for (int part = 0; part < kStep; part += kPart) {
            Scores d_s;
            fill(d_s, 0);
            if (keys.seen_by_any(queries))
                add_part(sums, d_s, v, shared, stage, part, keys, queries, p);
            if constexpr (kAddsQueries) store(shared.d_s.at(keys.first, part), d_s);
        }
    }

    // Four of the five products of 16 keys and kPart queries; gives d_s for the fifth.
    SIMT_FN static void add_part(KeySums& sums, Scores& d_s, const OperandTile<kMmaRows, kHead>& v,
                                 Shared& shared, int stage, int part, const WarpRows& keys,
                                 const RunTile& queries, const Params& p) {
        const auto q = shared.q[stage].at(part, 0);
        const auto d_out = shared.d_out[stage].at(part, 0);
        const ScoreStats* stats = shared.stats[stage] + part;
        Scores probabilities;
        OperandTile<kMmaRows, kPart> operand;
        fill(probabilities, 0);
        mma_ABt<kHead>(probabilities, shared.k.at(keys.first, 0), q);
        to_probabilities(probabilities, stats, p);
        if (!keys.seen_by_all(queries)) hide(probabilities, keys, queries, part);
        to_operand(operand, probabilities);
        mma_AB(sums.d_v, operand, d_out);
        mma_ABt(d_s, v, d_out);
        to_gradients(d_s, probabilities, stats, p);
        to_operand(operand, d_s);
        mma_AB(sums.d_k, operand, q);
    }

    // lse and delta of a step travel through a register of one thread per query: they are read
    // while the step before is computed and published before the barrier that starts their own.
    struct RowStats {
        float lse, delta;
    };
    SIMT_FN static RowStats fetch_stats(const Params& p, int head, const RunTile& queries) {
        if (simt::thread() >= queries.count) return {-INFINITY, 0};
        const std::int64_t row = queries.token + simt::thread();
        return {p.lse[row * p.Hq + head], p.delta[row * p.Hq + head]};
    }
    SIMT_FN static void publish_stats(ScoreStats (&to)[kStep], const RowStats& fetched,
                                      float scale) {
        if (simt::thread() < kStep)
            to[simt::thread()] = to_stats(fetched.lse, fetched.delta, scale);
    }

    // Scores of (keys, queries): the statistics are those of an element's column.
    SIMT_FN static void to_probabilities(Scores& scores, const ScoreStats* stats, const Params& p) {
        for_each(scores, [&](float& x, int, int column, int, int) {
            x = probability_of(x, stats[column], p);
        });
    }
    // Turns d_p into d_s in place.
    SIMT_FN static void to_gradients(Scores& d_s, const Scores& probabilities,
                                     const ScoreStats* stats, const Params& p) {
        SIMT_UNROLL
        for (int j = 0; j < kPart / kMmaColumns; ++j) {
            SIMT_UNROLL
            for (int e = 0; e < 4; ++e) {
                const ScoreStats& of_query = stats[j * kMmaColumns + fragment_column(e)];
                d_s.x[0][j][e] = gradient_of(probabilities.x[0][j][e], d_s.x[0][j][e], of_query, p);
            }
        }
    }
    // A key that a query does not see, and a row that is no key, has probability 0.
    SIMT_FN static void hide(Scores& probabilities, const WarpRows& keys, const RunTile& queries,
                             int part) {
        for_each(probabilities, [&](float& x, int row, int column, int, int) {
            const int query = queries.position + part + column;
            if (row >= keys.count || query < keys.position + row) x = 0;
        });
    }

    // d_q += d_s k over the keys of the block: a warp has 16 queries and a part of the columns.
    SIMT_FN static void add_query_gradients(Shared& shared, const HeadRows<float>& d_q) {
        constexpr int kQueryTiles = kStep / kMmaRows;
        constexpr int kColumns = kHead * kQueryTiles / kWarps;
        const int first_row = simt::warp() % kQueryTiles * kMmaRows;
        const int first_column = simt::warp() / kQueryTiles * kColumns;
        RegisterTile<kMmaRows, kColumns> sums;
        fill(sums, 0);
        mma_AtB<kRows>(sums, shared.d_s.at(0, first_row), shared.k.at(0, first_column));
        const HeadRows<float> part{d_q.at(first_row, first_column), d_q.stride,
                                   d_q.count - first_row, d_q.D - first_column};
        each_pair<kColumns>(part, [&](int j, int r, float* at) {
            simt::atomic_add(at, sums.x[0][j][2 * r]);
            simt::atomic_add(at + 1, sums.x[0][j][2 * r + 1]);
        });
    }
};

}  // namespace rm::device
