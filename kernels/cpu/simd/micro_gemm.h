#pragma once

#include "kernels/cpu/simd/vec.h"

// The one register-blocked matrix product of the backend: out (M, N) (+)= A (M, K) B (K, N), where
// A is a small packed tile whose strides are compile-time constants and B has contiguous rows. Each
// output is one chain of multiply-adds over K ascending, whatever its row, its column and the other
// sizes.
namespace rm::RM_SIMD {

constexpr std::ptrdiff_t kTile = 64;

// Where element (row, depth) of A lies.
struct RowMajorTile {  // (rows, 64)
    static constexpr std::ptrdiff_t kRow = kTile, kDepth = 1;
};
struct ColumnMajorTile {  // (depth, 64)
    static constexpr std::ptrdiff_t kRow = 1, kDepth = kTile;
};

// One micro tile: kMicroRows x (vecs * kWidth). Rows of A beyond the valid ones are computed and
// not stored, so they must be readable. Partial: only the first `columns` of one vector exist.
enum class Ends { full, partial };

template <typename Layout, int vecs, Ends ends, typename Write>
RM_INLINE void micro_gemm(const float* a, const float* b, std::ptrdiff_t b_stride,
                          std::ptrdiff_t depth, std::ptrdiff_t rows, std::ptrdiff_t columns,
                          const Write& write) {
    Vec sum[kMicroRows][vecs];
    for (int r = 0; r < kMicroRows; ++r) {
        for (int j = 0; j < vecs; ++j)
            sum[r][j] = Vec{};
    }
    for (std::ptrdiff_t k = 0; k < depth; ++k) {
        Vec b_row[vecs];
        for (int j = 0; j < vecs; ++j) {
            const float* from = b + k * b_stride + j * kWidth;
            b_row[j] = ends == Ends::full ? load(from) : load_first(from, columns);
        }
#pragma GCC unroll 8
        for (int r = 0; r < kMicroRows; ++r) {
            const Vec a_value = splat(a[k * Layout::kDepth + r * Layout::kRow]);
#pragma GCC unroll 2
            for (int j = 0; j < vecs; ++j)
                sum[r][j] += a_value * b_row[j];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kMicroRows; ++r) {
        if (r >= rows) break;
#pragma GCC unroll 2
        for (int j = 0; j < vecs; ++j)
            write(r, j * kWidth, sum[r][j], ends == Ends::full ? kWidth : columns);
    }
}

// All of a tile. `write(row, column, sums, count)` takes `count` results of one row (kWidth unless
// at the end of N) and puts them where they go.
template <typename Layout, typename Write>
RM_INLINE void tile_gemm(const float* a, const float* b, std::ptrdiff_t b_stride, std::ptrdiff_t M,
                         std::ptrdiff_t N, std::ptrdiff_t K, const Write& write) {
    std::ptrdiff_t n = 0;
    const auto panel = [&]<int vecs, Ends ends>(std::ptrdiff_t columns) {
        for (std::ptrdiff_t m = 0; m < M; m += kMicroRows) {
            const auto write_at = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums,
                                      std::ptrdiff_t count) __attribute__((always_inline)) {
                write(m + row, n + column, sums, count);
            };
            micro_gemm<Layout, vecs, ends>(a + m * Layout::kRow, b + n, b_stride, K, M - m, columns,
                                           write_at);
        }
    };
    for (; n + kMicroColumns <= N; n += kMicroColumns)
        panel.template operator()<kMicroVecs, Ends::full>(kMicroColumns);
    for (; n + kWidth <= N; n += kWidth)
        panel.template operator()<1, Ends::full>(kWidth);
    if (n < N) panel.template operator()<1, Ends::partial>(N - n);
}

}  // namespace rm::RM_SIMD
