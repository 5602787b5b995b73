#include "kernels/cpu/simd/loops_here.h"
#include "kernels/cpu/simd/micro_gemm.h"

// A packed weight is a row of panels, each (K, kMicroColumns); the last is filled up with zeros.
namespace rm::RM_SIMD {
namespace {

// Depth that is summed in registers before it goes to memory: one panel of it stays in L1.
constexpr std::ptrdiff_t kDepth = 128;

RM_INLINE std::ptrdiff_t min(std::ptrdiff_t a, std::ptrdiff_t b) {
    return a < b ? a : b;
}

// One panel of a packed weight against one depth block of up to 64 rows.
template <typename Write>
RM_INLINE void panel_gemm(const float* a, const float* panel, std::ptrdiff_t rows,
                          std::ptrdiff_t depth, const Write& write) {
    for (std::ptrdiff_t row = 0; row < rows; row += kMicroRows) {
        const auto write_at = [&](std::ptrdiff_t r, std::ptrdiff_t column, Vec sums, std::ptrdiff_t)
            __attribute__((always_inline)) {
            write(row + r, column, sums);
        };
        micro_gemm<ColumnMajorTile, kMicroVecs, Ends::full>(a + row, panel, kMicroColumns, depth,
                                                            rows - row, kMicroColumns, write_at);
    }
}

// The part of an output panel that exists: `count` columns of one vector, which may be none.
RM_INLINE void write_ends(float* to, Vec sums, std::ptrdiff_t count, bool add) {
    if (count >= kWidth) return store(to, add ? load(to) + sums : sums);
    if (count > 0) store_first(to, add ? load_first(to, count) + sums : sums, count);
}

// Copies `columns` of each row; the rest of a row of `width`, a multiple of kWidth, becomes zero.
RM_INLINE void copy_rows(const float* from, std::ptrdiff_t from_stride, std::ptrdiff_t rows,
                         std::ptrdiff_t columns, float* to, std::ptrdiff_t width) {
    for (std::ptrdiff_t r = 0; r < rows; ++r) {
        for (std::ptrdiff_t c = 0; c < width; c += kWidth) {
            const float* at = from + r * from_stride + c;
            const std::ptrdiff_t left = columns - c;
            Vec value{};
            if (left >= kWidth) {
                value = load(at);
            } else if (left > 0) {
                value = load_first(at, left);
            }
            store(to + r * width + c, value);
        }
    }
}

}  // namespace

const std::ptrdiff_t kGemmScratch = kDepth * kTile;
const std::ptrdiff_t kOuterScratch = kTile * kTile + kTile * kMicroColumns;

void transpose(const float* from, std::ptrdiff_t from_stride, std::ptrdiff_t rows,
               std::ptrdiff_t columns, float* to, std::ptrdiff_t to_stride, std::ptrdiff_t padded) {
    for (std::ptrdiff_t c = 0; c < columns; ++c) {
        float* row = to + c * to_stride;
        for (std::ptrdiff_t r = 0; r < rows; ++r)
            row[r] = from[r * from_stride + c];
        for (std::ptrdiff_t r = rows; r < padded; ++r)
            row[r] = 0;
    }
}

std::ptrdiff_t packed_size(std::ptrdiff_t K, std::ptrdiff_t N) {
    return (N + kMicroColumns - 1) / kMicroColumns * kMicroColumns * K;
}

void pack_columns(const float* b, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride,
                  std::ptrdiff_t K, std::ptrdiff_t first, std::ptrdiff_t last, float* packed) {
    for (std::ptrdiff_t n = first; n < last; n += kMicroColumns) {
        float* panel = packed + n * K;
        const std::ptrdiff_t columns = min(kMicroColumns, last - n);
        for (std::ptrdiff_t k = 0; k < K; ++k) {
            for (std::ptrdiff_t c = 0; c < kMicroColumns; ++c) {
                panel[k * kMicroColumns + c] =
                    c < columns ? b[k * k_stride + (n + c) * n_stride] : 0;
            }
        }
    }
}

void gemm_rows(const simd::GemmRows& op) {
    for (std::ptrdiff_t k = 0; k < op.K; k += kDepth) {
        const std::ptrdiff_t depth = min(kDepth, op.K - k);
        const bool add = op.add || k > 0;
        transpose(op.x + k, op.x_stride, op.rows, depth, op.scratch, kTile, kTile);
        for (std::ptrdiff_t n = 0; n < op.N; n += kMicroColumns) {
            const auto write = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
                __attribute__((always_inline)) {
                write_ends(op.y + row * op.y_stride + n + column, sums, op.N - n - column, add);
            };
            const float* panel = op.packed + n * op.K + k * kMicroColumns;
            panel_gemm(op.scratch, panel, op.rows, depth, write);
        }
    }
}

void outer_product(const simd::OuterProduct& op) {
    float* a = op.scratch;
    float* panel = op.scratch + kTile * kTile;
    for (std::ptrdiff_t k = 0; k < op.depth; k += kTile) {
        const std::ptrdiff_t depth = min(kTile, op.depth - k);
        copy_rows(op.a + k * op.a_stride, op.a_stride, depth, op.rows, a, kTile);
        for (std::ptrdiff_t n = 0; n < op.N; n += kMicroColumns) {
            copy_rows(op.b + k * op.b_stride + n, op.b_stride, depth, min(kMicroColumns, op.N - n),
                      panel, kMicroColumns);
            const auto write = [&](std::ptrdiff_t row, std::ptrdiff_t column, Vec sums)
                __attribute__((always_inline)) {
                write_ends(op.out + row * op.out_stride + n + column, sums, op.N - n - column,
                           true);
            };
            panel_gemm(a, panel, op.rows, depth, write);
        }
    }
}

}  // namespace rm::RM_SIMD
