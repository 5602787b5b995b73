#pragma once

#include <type_traits>

#include "kernels/device/attention/attention_forward_rows.cuh"

// Attention forward: merges the keys and values of one call into the running state
// (FlashAttention-2, Dao 2023). A block has one head of a tile of queries, a warp 16 of its rows
// with their state in registers; keys and values stream through shared memory in steps of 64.
//
// The arithmetic of a row is one softmax step per 64 keys, counted from the start of their run, in
// local order, and depends on nothing else. So neither the shape of the block, nor where queries
// are cut, nor cutting keys at multiples of 64 from the start of a run changes a bit: a step of
// which a row sees nothing multiplies its state by 1 and adds 0.
namespace rm::device {

struct AttentionForwardParams : AttentionQueries {
    const std::uint16_t* k;  // (S, Hk, D) bf16
    const std::uint16_t* v;  // (S, Hk, D) bf16
};

template <int kHead, int kWarps, int kStages>
struct AttentionForward {
    static constexpr const char* kName = "attention_fwd";
    static constexpr int kThreads = 32 * kWarps;
    static constexpr int kRows = 16 * kWarps;  // queries of a block
    static constexpr int kStep = kSoftmaxKeys;
    // At 128 columns a warp keeps its queries in registers. At 64 it reads them again in every
    // step: 4 of 36 ldmatrix, for 16 registers, which make room for twice as many warps.
    static constexpr bool kKeepsQueries = kHead == 128;
    static constexpr int kMinBlocks = (kKeepsQueries ? 8 : 16) / kWarps;
    static_assert(kHead == 64 || kHead == 128, "registers hold 16 rows of one head per warp");
    static_assert(kStages == 1 || kStages == 2, "one pair of tiles, or one ahead");

    struct Nothing {};
    struct Shared {
        SharedTile<kStep, kHead> k[kStages];
        SharedTile<kStep, kHead> v[kStages];
        RunTile queries;
        std::conditional_t<kKeepsQueries, Nothing, SharedTile<kRows, kHead>> q;
    };
    using Params = AttentionForwardParams;
    using Tile = SharedTile<kStep, kHead>;
    using Scores = RegisterTile<kMmaRows, kStep>;
    using Probabilities = OperandTile<kMmaRows, kStep>;
    using State = ForwardState<kHead>;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const QueryTask task(p);
        if (simt::thread() == 0) shared.queries = tile_at<kRows>(p.q_runs, task.tile);
        simt::sync_block();
        const RunTile& queries = shared.queries;
        KeyWalk<kStep> walk(p.kv_runs, queries);
        RunTile next;
        if (!walk.next(next)) return;  // the tile sees no key: the state stays
        start(p, shared, task, next);
        const WarpRows rows(queries);
        OperandTile<kMmaRows, kHead> q;
        if constexpr (kKeepsQueries)
            load(q, head_rows(p.q, p.Hq, p.D, task.head, rows.token, rows.count));
        State state;
        load_state(state, p, task.head, rows);

        bool more = true;
        for (int stage = 0; more; stage = (stage + 1) % kStages) {
            const RunTile keys = next;
            more = walk.next(next);
            bring_step(p, shared, task, stage, keys, next, more);
            const bool active = rows.see_any(keys);
            Probabilities probabilities;
            if (active) {
                Scores scores;
                fill(scores, 0);
                const auto k = shared.k[stage].at(0, 0);
                if constexpr (kKeepsQueries) mma_ABt(scores, q, k);
                if constexpr (!kKeepsQueries) mma_ABt<kHead>(scores, shared.q.at(rows.first, 0), k);
                if (!rows.see_all(keys, kStep)) hide_unseen(scores, rows, keys);
                RowValues<kMmaRows> keep;
                softmax_step<0>(scores, keep, state, p.scale_log2);
                scale_rows(state.acc, keep);
                to_operand(probabilities, scores);
            }
            if constexpr (kStages == 1) bring_next_keys(p, shared, task, next, more);
            if (active) mma_AB(state.acc, probabilities, shared.v[stage].at(0, 0));
        }
        store_state(state, p, task.head, WarpRows(queries));  // read again, not kept
    }

    // With two stages the next tiles arrive during a whole step, and one barrier says both that
    // these have arrived and that all warps have left the others. With one stage the values arrive
    // during the scores, and the next keys during the sum of values.
    SIMT_FN static void start(const Params& p, Shared& shared, const QueryTask& task,
                              const RunTile& first) {
        const RunTile& queries = shared.queries;
        copy(p, shared.k[0], p.k, task, first);
        if constexpr (kStages == 2) copy(p, shared.v[0], p.v, task, first);
        if constexpr (!kKeepsQueries) {
            copy_async<kThreads>(
                shared.q, head_rows(p.q, p.Hq, p.D, task.head, queries.token, queries.count));
        }
        simt::cp_async_commit();
    }
    SIMT_FN static void bring_step(const Params& p, Shared& shared, const QueryTask& task,
                                   int stage, const RunTile& keys, const RunTile& next, bool more) {
        simt::cp_async_wait<0>();
        simt::sync_block();
        if constexpr (kStages == 1) copy(p, shared.v[0], p.v, task, keys);
        if constexpr (kStages == 2) {
            if (more) copy(p, shared.k[stage ^ 1], p.k, task, next);
            if (more) copy(p, shared.v[stage ^ 1], p.v, task, next);
        }
        simt::cp_async_commit();
    }
    SIMT_FN static void bring_next_keys(const Params& p, Shared& shared, const QueryTask& task,
                                        const RunTile& next, bool more) {
        simt::cp_async_wait<0>();
        simt::sync_block();
        if (more) copy(p, shared.k[0], p.k, task, next);
        simt::cp_async_commit();
    }
    SIMT_FN static void copy(const Params& p, Tile& to, const std::uint16_t* from,
                             const QueryTask& task, const RunTile& keys) {
        copy_async<kThreads>(to, head_rows(from, p.Hk, p.D, task.kv_head, keys.token, keys.count));
    }
};

}  // namespace rm::device
