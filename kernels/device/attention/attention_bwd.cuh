#pragma once

#include "kernels/device/attention/attention_runs.cuh"
#include "kernels/device/attention/attention_tiles.cuh"

// Shared by both passes of attention backward (FlashAttention-2, Dao 2023): probabilities are
// computed again from the scores and lse, and with d_p = d_out v^T the gradient of a score is
// d_s = scale p (d_p - delta). The scale is part of d_s, so that sums over calls need none.
namespace rm::device {

struct AttentionBackwardParams {
    const std::uint16_t* q;      // (T, Hq, D) bf16
    const std::uint16_t* k;      // (S, Hk, D) bf16
    const std::uint16_t* v;      // (S, Hk, D) bf16
    const std::uint16_t* d_out;  // (T, Hq, D) bf16
    const float* lse;            // (T, Hq) natural log
    const float* delta;          // (T, Hq)
    float* d_q;                  // (T, Hq, D), summed into
    float* d_k;                  // (S, Hk, D), summed into
    float* d_v;                  // (S, Hk, D), summed into
    int Hq, Hk, D;
    int group;                // Hq / Hk
    float scale, scale_log2;  // the second is log2(e) times the first
    int num_tiles;            // of the outer side: queries or keys
    RunList q_runs, kv_runs;
};

// The statistics of one query row, in the units of its scores.
struct alignas(8) ScoreStats {
    float lse;    // in powers of two; +inf: every probability is 0
    float delta;  // times scale
};
// Both numbers as they lie in memory. A row that does not exist or saw no key (lse is -inf) gets
// probabilities of 0.
SIMT_FN ScoreStats to_stats(float lse, float delta, float scale) {
    return {lse == -INFINITY ? INFINITY : lse * kLog2E, delta * scale};
}
SIMT_FN ScoreStats load_stats(const AttentionBackwardParams& p, int head, int token, int count,
                              int row) {
    if (row >= count) return {INFINITY, 0};
    const std::int64_t at = static_cast<std::int64_t>(token + row) * p.Hq + head;
    return to_stats(p.lse[at], p.delta[at], p.scale);
}

SIMT_FN float probability_of(float score, const ScoreStats& stats,
                             const AttentionBackwardParams& p) {
    return simt::exp2(fmaf(score, p.scale_log2, -stats.lse));
}
SIMT_FN float gradient_of(float probability, float d_p, const ScoreStats& stats,
                          const AttentionBackwardParams& p) {
    return probability * fmaf(d_p, p.scale, -stats.delta);
}

}  // namespace rm::device
