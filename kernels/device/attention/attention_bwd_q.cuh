#pragma once

#include "kernels/device/attention/attention_bwd.cuh"

// The gradient of queries, in order: d_q += d_s k. A pass of its own with queries outer, so that
// every element is summed by one thread over ascending keys; the scores are computed again (seven
// products for the whole backward pass instead of five).
//
// The sums of a row start from d_q in memory and take 16 keys at a time, counted from the start of
// their run: cutting a call at multiples of 16 from the start of runs changes no bit.
namespace rm::device {

template <int kHead, int kWarps>
struct AttentionBackwardQueries {
    static constexpr const char* kName = "attention_bwd_q";
    static constexpr int kThreads = 32 * kWarps;
    static constexpr int kRows = 16 * kWarps;
    static constexpr int kStep = 64;  // keys that stream through shared memory together
    static constexpr int kPart = 32;  // keys whose scores a warp holds
    static constexpr int kMinBlocks = (kHead == 64 ? 12 : 8) / kWarps;
    static_assert(kHead == 64 || kHead == 128, "registers hold 16 rows of one head per warp");
    static_assert(kStep % kPart == 0 && kPart % 16 == 0, "mma sums over 16 keys");

    struct Shared {
        SharedTile<kStep, kHead> k[2];
        SharedTile<kStep, kHead> v[2];
        RunTile queries;
    };
    using Params = AttentionBackwardParams;
    using Scores = RegisterTile<kMmaRows, kPart>;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const QueryTask task(p);
        if (simt::thread() == 0) shared.queries = tile_at<kRows>(p.q_runs, task.tile);
        simt::sync_block();
        KeyWalk<kStep> walk(p.kv_runs, shared.queries);
        RunTile next;
        if (!walk.next(next)) return;  // the tile sees no key: d_q stays
        copy(p, shared, task.kv_head, 0, next);

        const WarpRows rows(shared.queries);
        OperandTile<kMmaRows, kHead> q, d_out;
        load(q, head_rows(p.q, p.Hq, p.D, task.head, rows.token, rows.count));
        load(d_out, head_rows(p.d_out, p.Hq, p.D, task.head, rows.token, rows.count));
        const HeadRows<float> memory =
            head_rows(p.d_q, p.Hq, p.D, task.head, rows.token, rows.count);
        RegisterTile<kMmaRows, kHead> d_q;
        load(d_q, memory);
        const ScoreStats stats[2] = {
            load_stats(p, task.head, rows.token, rows.count, fragment_row(0)),
            load_stats(p, task.head, rows.token, rows.count, fragment_row(2))};

        bool more = true;
        for (int stage = 0; more; stage ^= 1) {
            const RunTile keys = next;
            more = walk.next(next);
            simt::cp_async_wait<0>();
            simt::sync_block();
            if (more) copy(p, shared, task.kv_head, stage ^ 1, next);
            if (!rows.see_any(keys)) continue;
            for (int part = 0; part < kStep; part += kPart) {
                Scores d_s;
                to_d_s(d_s, q, d_out, shared, stage, part, stats, p);
                if (!rows.see_all(keys, kStep)) hide(d_s, rows, keys, part);
                OperandTile<kMmaRows, kPart> operand;
                to_operand(operand, d_s);
                mma_AB(d_q, operand, shared.k[stage].at(part, 0));
            }
        }
        store(memory, d_q);
    }

    SIMT_FN static void copy(const Params& p, Shared& shared, int kv_head, int stage,
                             const RunTile& keys) {
        const auto rows = [&](const std::uint16_t* from) {
            return head_rows(from, p.Hk, p.D, kv_head, keys.token, keys.count);
        };
        copy_async<kThreads>(shared.k[stage], rows(p.k));
        copy_async<kThreads>(shared.v[stage], rows(p.v));
        simt::cp_async_commit();
    }

    // The gradients of the scores of kPart keys, seen or not.
    SIMT_FN static void to_d_s(Scores& d_s, const OperandTile<kMmaRows, kHead>& q,
                               const OperandTile<kMmaRows, kHead>& d_out, Shared& shared, int stage,
                               int part, const ScoreStats (&stats)[2], const Params& p) {
        Scores scores;
        fill(scores, 0);
        fill(d_s, 0);
        mma_ABt(scores, q, shared.k[stage].at(part, 0));
        mma_ABt(d_s, d_out, shared.v[stage].at(part, 0));
        to_gradients(d_s, scores, stats, p);
    }
    // Turns d_p into d_s in place.
    SIMT_FN static void to_gradients(Scores& d_s, const Scores& scores,
                                     const ScoreStats (&stats)[2], const Params& p) {
        SIMT_UNROLL
        for (int j = 0; j < kPart / kMmaColumns; ++j) {
            SIMT_UNROLL
            for (int e = 0; e < 4; ++e) {
                const float probability = probability_of(scores.x[0][j][e], stats[e / 2], p);
                d_s.x[0][j][e] = gradient_of(probability, d_s.x[0][j][e], stats[e / 2], p);
            }
        }
    }
    // Keys that a row does not see have no gradient.
    SIMT_FN static void hide(Scores& d_s, const WarpRows& rows, const RunTile& keys, int part) {
        for_each(d_s, [&](float& x, int row, int column, int, int) {
            if (part + column >= keys_seen(rows.position + row, keys)) x = 0;
        });
    }
};

}  // namespace rm::device
