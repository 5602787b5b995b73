#include "kernels/cpu/simd/loops_here.h"
#include "kernels/cpu/simd/micro_gemm.h"

namespace rm::RM_SIMD {
namespace {

constexpr float kInf = __builtin_inff();
constexpr std::ptrdiff_t kTileVecs = kTile / kWidth;

// How many keys a row sees.
template <typename Tile>
RM_INLINE std::ptrdiff_t limit_of(const Tile& tile, std::ptrdiff_t row) {
    const std::ptrdiff_t limit = tile.first_limit + row;
    if (limit <= 0) return 0;
    return limit < tile.keys ? limit : tile.keys;
}

// All ones in the lanes of columns [column, column + kWidth) that are below the limit.
RM_INLINE VecI below(std::ptrdiff_t column, std::ptrdiff_t limit) {
    return lane_numbers() < static_cast<std::int32_t>(limit - column);
}

// Scores of one row as powers of two; those the row does not see are -inf.
RM_INLINE void masked_row(const float* p, std::ptrdiff_t limit, Vec (&score)[kTileVecs]) {
    for (std::ptrdiff_t i = 0; i < kTileVecs; ++i) {
        score[i] = load(p + i * kWidth);
        if (limit < kTile) score[i] = select(below(i * kWidth, limit), score[i], splat(-kInf));
    }
}

// Raises every row's m to the highest score the row has seen, and gives the factors by which what
// was summed before shrinks.
RM_INLINE void update_maxima(const simd::AttentionFwdTile& tile, float scale, float* keep) {
    for (std::ptrdiff_t row = 0; row < kTile; ++row) {
        keep[row] = 0;
        if (row >= tile.rows) continue;
        const std::ptrdiff_t limit = limit_of(tile, row);
        if (limit == 0) continue;
        Vec score[kTileVecs];
        masked_row(tile.p + row * kTile, limit, score);
        Vec highest = score[0];
        for (std::ptrdiff_t i = 1; i < kTileVecs; ++i)
            highest = max(highest, score[i]);
        const float row_max = max_lanes(highest) * scale;
        float& m = tile.m[row * tile.stat_stride];
        const float new_m = m > row_max ? m : row_max;
        keep[row] = m - new_m;
        m = new_m;
    }
    for (std::ptrdiff_t row = 0; row < kTile; row += kWidth)
        store(keep + row, exp2_vec(load(keep + row)));
}

// Turns the scores into probabilities relative to m and adds them to l.
RM_INLINE void exponentiate(const simd::AttentionFwdTile& tile, float scale, const float* keep) {
    for (std::ptrdiff_t row = 0; row < tile.rows; ++row) {
        float* p = tile.p + row * kTile;
        const std::ptrdiff_t limit = limit_of(tile, row), at = row * tile.stat_stride;
        Vec score[kTileVecs];
        masked_row(p, limit, score);
        // A row that sees nothing here may have seen nothing yet: then m is -inf, too.
        const float m = limit == 0 ? 0 : tile.m[at];
        Vec sum{};
        for (std::ptrdiff_t i = 0; i < kTileVecs; ++i) {
            const Vec value = exp2_vec(score[i] * scale - m);
            store(p + i * kWidth, value);
            sum += value;
        }
        tile.l[at] = tile.l[at] * keep[row] + sum_lanes(sum);
    }
}

// Adds a product to an output whose rows are `stride` apart.
RM_INLINE void add_to(float* to, Vec sums, std::ptrdiff_t count) {
    if (count == kWidth) return store(to, load(to) + sums);
    store_first(to, load_first(to, count) + sums, count);
}

enum class Mask { none, causal };

// p = softmax probabilities from q k^T, as the product leaves its registers.
template <Mask mask>
RM_INLINE void probabilities(const simd::AttentionBwdTile& tile) {
    const auto write = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec scores, std::ptrdiff_t)
        __attribute__((always_inline)) {
        Vec p = exp2_vec(scores * (tile.scale * kLog2E) - tile.lse[row]);
        if (mask == Mask::causal) p = select(below(column, limit_of(tile, row)), p, Vec{});
        store(tile.p + row * kTile + column, p);
    };
    tile_gemm<ColumnMajorTile>(tile.q_t, tile.k_t, tile.kv_t_stride, tile.rows, kTile, tile.D,
                               write);
}

// d_s = scale * p * (d_out v^T - delta)
template <Mask mask>
RM_INLINE void score_gradients(const simd::AttentionBwdTile& tile) {
    const auto write = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec d_p, std::ptrdiff_t)
        __attribute__((always_inline)) {
        const std::ptrdiff_t at = row * kTile + column;
        Vec d_s = load(tile.p + at) * (d_p - tile.delta[row]) * tile.scale;
        // Columns past the keys hold whatever lies behind them, even NaN.
        if (mask == Mask::causal) d_s = select(below(column, limit_of(tile, row)), d_s, Vec{});
        store(tile.d_s + at, d_s);
    };
    tile_gemm<ColumnMajorTile>(tile.d_out_t, tile.v_t, tile.kv_t_stride, tile.rows, kTile, tile.D,
                               write);
}

}  // namespace

void attention_fwd(const simd::AttentionFwdTile& tile) {
    const auto write_scores = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec scores,
                                  std::ptrdiff_t) __attribute__((always_inline)) {
        store(tile.p + row * kTile + column, scores);
    };
    tile_gemm<ColumnMajorTile>(tile.q_t, tile.k_t, tile.k_t_stride, tile.rows, kTile, tile.D,
                               write_scores);
    float keep[kTile];
    update_maxima(tile, tile.scale * kLog2E, keep);
    exponentiate(tile, tile.scale * kLog2E, keep);
    const auto merge = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums,
                           std::ptrdiff_t count) __attribute__((always_inline)) {
        float* to = tile.acc + row * tile.acc_stride + column;
        if (count == kWidth) return store(to, load(to) * keep[row] + sums);
        store_first(to, load_first(to, count) * keep[row] + sums, count);
    };
    tile_gemm<RowMajorTile>(tile.p, tile.v, tile.v_stride, tile.rows, tile.D, tile.keys, merge);
}

void attention_bwd(const simd::AttentionBwdTile& tile) {
    if (limit_of(tile, 0) == kTile) {
        probabilities<Mask::none>(tile);
        score_gradients<Mask::none>(tile);
    } else {
        probabilities<Mask::causal>(tile);
        score_gradients<Mask::causal>(tile);
    }
    const auto add_d_q = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums,
                             std::ptrdiff_t count) __attribute__((always_inline)) {
        add_to(tile.d_q + row * tile.q_stride + column, sums, count);
    };
    const auto add_d_k = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums,
                             std::ptrdiff_t count) __attribute__((always_inline)) {
        add_to(tile.d_k + row * tile.kv_stride + column, sums, count);
    };
    const auto add_d_v = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums,
                             std::ptrdiff_t count) __attribute__((always_inline)) {
        add_to(tile.d_v + row * tile.kv_stride + column, sums, count);
    };
    const auto rows = tile.rows, keys = tile.keys, D = tile.D;
    tile_gemm<RowMajorTile>(tile.d_s, tile.k, tile.kv_stride, rows, D, keys, add_d_q);
    tile_gemm<ColumnMajorTile>(tile.p, tile.d_out, tile.q_stride, keys, D, rows, add_d_v);
    tile_gemm<ColumnMajorTile>(tile.d_s, tile.q, tile.q_stride, keys, D, rows, add_d_k);
}

}  // namespace rm::RM_SIMD
