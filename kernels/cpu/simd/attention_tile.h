#pragma once

#include "kernels/cpu/simd/loops.h"
#include "kernels/cpu/simd/vec.h"

// The parts of attention's loops. Scores are kept with one query per lane, (keys, 64), so
// that maxima, sums, lse and delta are plain vectors and K and V need no transposing.
namespace rm::RM_SIMD {

constexpr std::ptrdiff_t kTokens = simd::kTileRows;
constexpr std::ptrdiff_t kBlockRows = kMicroRows;
static_assert(kTokens % kMicroColumns == 0 && kTokens % kBlockRows == 0,
              "score tiles are whole blocks");
static_assert(kMicroColumns % kBlockRows == 0 && kWidth % kBlockRows == 0,
              "a block of queries lies in one vector");

RM_INLINE std::ptrdiff_t align(std::ptrdiff_t count) {
    constexpr std::ptrdiff_t kAlign = simd::kAttentionAlign;
    return (count + kAlign - 1) / kAlign * kAlign;
}

// Left operand of a product: element (row, depth) is at[row * row_stride + depth * depth_stride],
// used for all lanes. Right operand: rows of vectors.
struct Left {
    const float* at = nullptr;
    std::ptrdiff_t row_stride = 0, depth_stride = 0;
};
struct Right {
    const float* at = nullptr;
    std::ptrdiff_t stride = 0;
};
struct Span {
    std::ptrdiff_t first = 0, last = 0;
};

// Operands are made of 32-bit units: one f32, or two bf16 that are neighbours along the summed
// dimension.
template <typename Unit>
RM_INLINE std::ptrdiff_t units(std::ptrdiff_t count) {
    return (count + Unit::kNumbers - 1) / Unit::kNumbers;
}

struct Float {
    static constexpr std::ptrdiff_t kNumbers = 1;
    RM_INLINE Vec add(Vec sum, const float* a, Vec b) { return sum + splat(*a) * b; }
};

#if defined(__AVX512BF16__)
struct Pair {
    static constexpr std::ptrdiff_t kNumbers = 2;
    RM_INLINE Vec add(Vec sum, const float* a, Vec b) {
        typedef std::int32_t Bits __attribute__((may_alias));
        return add_pairs(sum, splat(*reinterpret_cast<const Bits*>(a)), reinterpret_cast<VecI>(b));
    }
    // One pair per lane.
    RM_INLINE Vec join(Vec first, Vec second) {
        const auto bits = [](Vec value) __attribute__((always_inline)) {
            return __builtin_convertvector(narrow(value), VecU);
        };
        return reinterpret_cast<Vec>(bits(first) | bits(second) << 16);
    }
};
#endif

template <typename Unit, int vecs>
RM_INLINE void multiply(const Left& a, const Right& b, Span depth, Vec (&sum)[kBlockRows][vecs]) {
#pragma GCC unroll 8
    for (int r = 0; r < kBlockRows; ++r) {
#pragma GCC unroll 3
        for (int j = 0; j < vecs; ++j)
            sum[r][j] = Vec{};
    }
#pragma GCC unroll 2
    for (std::ptrdiff_t k = depth.first; k < depth.last; ++k) {
        Vec b_row[vecs];
#pragma GCC unroll 3
        for (int j = 0; j < vecs; ++j)
            b_row[j] = load(b.at + k * b.stride + j * kWidth);
#pragma GCC unroll 8
        for (int r = 0; r < kBlockRows; ++r) {
            const float* unit = a.at + r * a.row_stride + k * a.depth_stride;
#pragma GCC unroll 3
            for (int j = 0; j < vecs; ++j)
                sum[r][j] = Unit::add(sum[r][j], unit, b_row[j]);
        }
    }
}

// write(row, column, value) for the first `rows` rows of a block.
template <int vecs, typename Write>
RM_INLINE void for_each_sum(const Vec (&sum)[kBlockRows][vecs], std::ptrdiff_t rows,
                            const Write& write) {
#pragma GCC unroll 8
    for (int r = 0; r < kBlockRows; ++r) {
        if (r >= rows) break;
#pragma GCC unroll 3
        for (int j = 0; j < vecs; ++j)
            write(r, j * kWidth, sum[r][j]);
    }
}

// out (M, N) = A B, N a multiple of the vector. The block of rows at m is summed over the units of
// depth_of(m); write(m, n, value) takes a vector of out.
template <typename Unit, typename DepthOf, typename Write>
RM_INLINE void product(const Left& a, const Right& b, std::ptrdiff_t M, std::ptrdiff_t N,
                       const DepthOf& depth_of, const Write& write) {
    std::ptrdiff_t n = 0;
    const auto panel = [&]<int vecs>() __attribute__((always_inline)) {
        for (std::ptrdiff_t m = 0; m < M; m += kBlockRows) {
            const Span depth = depth_of(m);
            if (depth.first >= depth.last) continue;
            Vec sum[kBlockRows][vecs];
            multiply<Unit, vecs>({a.at + m * a.row_stride, a.row_stride, a.depth_stride},
                                 {b.at + n, b.stride}, depth, sum);
            for_each_sum(
                sum, M - m,
                [&](std::ptrdiff_t r, std::ptrdiff_t column, Vec value)
                    __attribute__((always_inline)) { write(m + r, n + column, value); });
        }
        n += vecs * kWidth;
    };
    while (N - n >= 2 * kWidth && N - n != 3 * kWidth)
        panel.template operator()<2>();
    if (N - n == 3 * kWidth) panel.template operator()<3>();
    if (N - n == kWidth) panel.template operator()<1>();
}

// Which part of a tile is visible: query r sees key j when j < first_limit + r.
template <typename Tile>
RM_INLINE std::ptrdiff_t keys_seen_by(const Tile& tile, std::ptrdiff_t query) {
    const std::ptrdiff_t limit = tile.first_limit + query;
    if (limit <= 0) return 0;
    return limit < tile.keys ? limit : tile.keys;
}
template <typename Tile>
RM_INLINE std::ptrdiff_t first_query_that_sees(const Tile& tile, std::ptrdiff_t key) {
    const std::ptrdiff_t query = key - tile.first_limit + 1;
    return query > 0 ? query : 0;
}
// All ones in the lanes of queries [query, query + kWidth) that see `key`.
template <typename Tile>
RM_INLINE VecI lanes_that_see(const Tile& tile, std::ptrdiff_t query, std::ptrdiff_t key) {
    return lane_numbers() > static_cast<std::int32_t>(key - tile.first_limit - query);
}

constexpr float kInf = __builtin_inff();

// 2^x, within 1.5e-7; 0 below 2^-126, NaN for NaN.
RM_INLINE Vec exp2_fast(Vec x) {
#if defined(__AVX512DQ__)
    // 2^(x - floor(x)) as a minimax polynomial on [0, 1), then scaled by 2^floor(x).
    const Vec r = _mm512_reduce_ps(x, 1);
    Vec p = splat(1.87757669e-3f);
    p = p * r + 8.98933969e-3f;
    p = p * r + 5.58263175e-2f;
    p = p * r + 2.40153611e-1f;
    p = p * r + 6.93153083e-1f;
    p = p * r + 9.99999940e-1f;
    const __mmask16 normal = _mm512_cmp_ps_mask(x, splat(-126.0f), _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(normal, p, x);
#else
    return exp2_vec(x);
#endif
}

// The state of a vector of queries: its maximum, 0 for a row that has seen nothing yet and
// whose m stays -inf, and the factor by which earlier sums shrink, exactly 1 where m did not rise.
struct RaisedMaximum {
    Vec finite;
    Vec kept;
};

// These three make the difference between a tile and one in 8 bits: what becomes of a vector of
// products, of probabilities, and of sums of values.
RM_INLINE Vec score_of(const simd::AttentionFwdTile&, std::ptrdiff_t, Vec product) {
    return product;
}
RM_INLINE Vec score_of(const simd::AttentionFwd8Tile& tile, std::ptrdiff_t query, Vec product) {
    return product * (load(tile.query_scale + query) * tile.k_scale) + load(tile.centre + query);
}
RM_INLINE Vec rounded(const simd::AttentionFwdTile&, Vec p) {
    return p;
}
// To the nearest number of e4m3, ties to even, of those from 0 to 256 (kernels/round_fp8.h).
RM_INLINE Vec rounded(const simd::AttentionFwd8Tile&, Vec p) {
    const Vec scaled = p * 256.0f, magic = splat(0x1p14f);
    const VecU bits = reinterpret_cast<VecU>(scaled);
    const VecU normal = (bits + 0x7ffffu + (bits >> 20 & 1u)) & 0xfff00000u;
    return select(scaled < 0x1p-6f, (scaled + magic) - magic, reinterpret_cast<Vec>(normal));
}
RM_INLINE Vec weighed(const simd::AttentionFwdTile&, Vec sums) {
    return sums;
}
RM_INLINE Vec weighed(const simd::AttentionFwd8Tile& tile, Vec sums) {
    return sums * (tile.v_scale * 0x1p-8f);
}

// Raises m to the scaled `highest` score and stores the factors in `keep`.
RM_INLINE RaisedMaximum raise_maximum(const simd::AttentionFwdTile& tile, std::ptrdiff_t query,
                                      Vec highest, float* keep) {
    const Vec before = load(tile.m + query);
    const Vec m = max(before, highest);
    store(tile.m + query, m);
    const Vec finite = select(m == -kInf, Vec{}, m);
    const Vec kept = exp2_vec(before - finite);
    store(keep + query, kept);
    return {finite, kept};
}

}  // namespace rm::RM_SIMD
