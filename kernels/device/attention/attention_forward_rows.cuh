#pragma once

#include "kernels/device/attention/attention_runs.cuh"
#include "kernels/device/attention/attention_tiles.cuh"

// Attention forward in bf16 and in 8 bits share this: parameters but for the keys, the state of a
// warp's 16 rows, and one softmax step of it (online softmax, Milakov and Gimelshein 2018).
namespace rm::device {

struct AttentionQueries {
    const std::uint16_t* q;  // (T, Hq, D) bf16
    float* acc;              // (T, Hq, D), not normalised
    float* m;                // (T, Hq), the highest score in powers of two
    float* l;                // (T, Hq), relative to 2^m
    int Hq, Hk, D;
    int group;         // Hq / Hk
    float scale_log2;  // log2(e) / sqrt(D), usually
    int num_tiles;     // of queries
    RunList q_runs, kv_runs;
};

constexpr int kSoftmaxKeys = 64;

template <int kHead>
struct ForwardState {
    RegisterTile<kMmaRows, kHead> acc;
    RowValues<kMmaRows> m, l;
};

// Scores of keys that a row does not see become -inf.
SIMT_FN void hide_unseen(RegisterTile<kMmaRows, kSoftmaxKeys>& scores, const WarpRows& rows,
                         const RunTile& keys) {
    for_each(scores, [&](float& score, int row, int column, int, int) {
        if (column >= keys_seen(rows.position + row, keys)) score = -INFINITY;
    });
}

// Raises m to the highest score of the step and turns scores into probabilities relative to the
// new m, times 2^kShift; l gets their sum without that factor. `keep` becomes the factor by which
// acc has to shrink. The sum of a row is complete after each step, not only after the last, so that
// the state in memory is the state in registers. fmaf where a compiler could choose: every shape
// must round alike.
template <int kShift, int kHead>
SIMT_FN void softmax_step(RegisterTile<kMmaRows, kSoftmaxKeys>& scores, RowValues<kMmaRows>& keep,
                          ForwardState<kHead>& state, float scale_log2) {
    constexpr float kUnshift = 1.0f / (1 << kShift);
    RowValues<kMmaRows> highest, offset, sum;
    fill(highest, -INFINITY);
    row_max(highest, scores);
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
        const float before = state.m.x[0][r];
        const float m = fmaxf(before, highest.x[0][r] * scale_log2);
        state.m.x[0][r] = m;
        const float base = m == -INFINITY ? 0 : m;  // a row that has seen nothing stays so
        keep.x[0][r] = simt::exp2(before - base);
        offset.x[0][r] = kShift - base;
    }
    for_each(scores, [&](float& score, int, int, int i, int r) {
        score = simt::exp2(fmaf(score, scale_log2, offset.x[i][r]));
    });
    row_sum(sum, scores);
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r)
        state.l.x[0][r] = fmaf(state.l.x[0][r], keep.x[0][r], sum.x[0][r] * kUnshift);
}

template <int kHead, typename Params>
SIMT_FN void load_state(ForwardState<kHead>& state, const Params& p, int head,
                        const WarpRows& rows) {
    load(state.acc, head_rows(p.acc, p.Hq, p.D, head, rows.token, rows.count));
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
        const bool inside = fragment_row(2 * r) < rows.count;
        const std::int64_t row = rows.token + fragment_row(2 * r);
        state.m.x[0][r] = inside ? p.m[row * p.Hq + head] : -INFINITY;
        state.l.x[0][r] = inside ? p.l[row * p.Hq + head] : 0;
    }
}
template <int kHead, typename Params>
SIMT_FN void store_state(const ForwardState<kHead>& state, const Params& p, int head,
                         const WarpRows& rows) {
    store(head_rows(p.acc, p.Hq, p.D, head, rows.token, rows.count), state.acc);
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
        if (fragment_row(2 * r) >= rows.count || fragment_column(0) != 0) continue;
        const std::int64_t row = rows.token + fragment_row(2 * r);
        p.m[row * p.Hq + head] = state.m.x[0][r];
        p.l[row * p.Hq + head] = state.l.x[0][r];
    }
}

}  // namespace rm::device
