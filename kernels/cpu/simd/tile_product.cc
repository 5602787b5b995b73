#include "base/usize.h"
#include "kernels/cpu/simd/product_parts.h"
#include "kernels/cpu/simd/tile_loops.h"
#include "kernels/cpu/simd/tile_unit.h"

// Matrix products of bf16 in tiles. Every element of a result is one chain of tile products over
// the depth in ascending order, kStep numbers each: a call may be cut over its depth at multiples
// of kStep, anywhere else without a change of bits.
namespace rm::RM_SIMD {
namespace {

using simd::kProductColumns;
using simd::kProductRows;

constexpr std::ptrdiff_t kPanel = simd::kPackColumns;
constexpr std::ptrdiff_t kBlockDepth = 512, kBlockUnits = kBlockDepth / 2;
constexpr std::ptrdiff_t kScratchA = kProductRows * kBlockUnits;
constexpr std::ptrdiff_t kScratchB = kBlockUnits * kPanel;
constexpr std::ptrdiff_t kScratchC = kProductRows * kProductColumns;
static_assert(kPanel % (2 * kSide) == 0 && kProductRows % (2 * kSide) == 0);
static_assert(kBlockDepth % kStep == 0 && kSide % kWidth == 0);

RM_INLINE std::ptrdiff_t steps_of(std::ptrdiff_t depth) {
    return (depth + kStep - 1) / kStep;
}

// Rows past the last, and numbers past the depth, count as zero. Rows are kBlockUnits apart.
void copy_left(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t depth,
               float* to) {
    const auto used = usize(depth) * sizeof(Bf16);
    const auto padded = usize(steps_of(depth) * kStep) * sizeof(Bf16);
    for (std::ptrdiff_t r = 0; r < round_up(rows, 2 * kSide); ++r, to += kBlockUnits) {
        if (r < rows) __builtin_memcpy(to, x + r * stride, used);
        const std::size_t from = r < rows ? used : 0;
        __builtin_memset(reinterpret_cast<char*>(to) + from, 0, padded - from);
    }
}

// c (rows, kPanel) = or += left (rows, steps) right (steps, kPanel).
void multiply_panel(TileUnit& unit, const float* left, const float* right, std::ptrdiff_t rows,
                    std::ptrdiff_t steps, float* c, std::ptrdiff_t stride, Sums sums) {
    float edge[2 * kSide * kPanel];
    for (std::ptrdiff_t r = 0; r < rows; r += 2 * kSide) {
        const std::ptrdiff_t count = min(2 * kSide, rows - r);
        const bool whole = count == 2 * kSide;
        float* to = whole ? c + r * stride : edge;
        const std::ptrdiff_t to_stride = whole ? stride : kPanel;
        if (!whole && sums == Sums::onto_c)
            copy_rows(c + r * stride, stride, count, kPanel, edge, kPanel);
        for (std::ptrdiff_t n = 0; n < kPanel; n += 2 * kSide) {
            tile_block<2, 2>(unit, {left + r * kBlockUnits, kBlockUnits}, {right + n, kPanel},
                             {0, steps}, to + n, to_stride, sums);
        }
        if (!whole) copy_rows(edge, kPanel, count, kPanel, c + r * stride, stride);
    }
}

template <typename Y>
void rows_into(const simd::ProductRows& op) {
    TileUnit unit;
    float *left = op.scratch, *copies = left + kScratchA + kScratchB;
    const std::ptrdiff_t units = steps_of(op.K) * kSide;
    for (std::ptrdiff_t k = 0; k < op.K; k += kBlockDepth) {
        const std::ptrdiff_t depth = min(kBlockDepth, op.K - k);
        copy_left(static_cast<const Bf16*>(op.x) + k, op.x_stride, op.rows, depth, left);
        for (std::ptrdiff_t n = 0; n < op.columns; n += kPanel) {
            const float* right =
                static_cast<const float*>(op.packed) + (op.first + n) * units + k / 2 * kPanel;
            using Out = OutPanel<Y, kPanel>;
            const bool direct = !op.add && Out::fits(op.columns - n);
            const Out out(static_cast<Y*>(op.y) + op.first + n, op.y_stride, op.rows,
                          op.columns - n, direct ? nullptr : copies + n * kProductRows);
            multiply_panel(unit, left, right, op.rows, steps_of(depth), out.data(), out.stride(),
                           k > 0 ? Sums::onto_c : Sums::from_zero);
            if (k + depth == op.K) out.put(op.add ? Sum::with_y : Sum::none);
        }
    }
}

void product_rows(const simd::ProductRows& op) {
    if (op.y_type == simd::Type::f32) return rows_into<float>(op);
    rows_into<Bf16>(op);
}

// Two neighbouring tokens' numbers of a vector of columns, a pair per lane; zero past the end.
RM_INLINE Vec pairs_at(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t t, std::ptrdiff_t depth,
                       std::ptrdiff_t count) {
    const Vec first = t < depth ? load_some(x + t * stride, count) : Vec{};
    const Vec second = t + 1 < depth ? load_some(x + (t + 1) * stride, count) : Vec{};
    return reinterpret_cast<Vec>(words_of(first, second));
}

// Columns of x (depth, width) become the rows of a left operand.
void left_of_columns(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t depth,
                     std::ptrdiff_t width, float* to) {
    for (std::ptrdiff_t u = 0; u < steps_of(depth) * kSide; u += kWidth) {
        for (std::ptrdiff_t c = 0; c < round_up(width, 2 * kSide); c += kWidth) {
            Vec square[kWidth];
            for (int i = 0; i < kWidth; ++i)
                square[i] = pairs_at(x + c, stride, 2 * (u + i), depth, width - c);
            transpose_square(square);
            for (int i = 0; i < kWidth; ++i)
                store(to + (c + i) * kBlockUnits + u, square[i]);
        }
    }
}

// Columns of x (depth, width) become a right operand.
void right_of_columns(const Bf16* x, std::ptrdiff_t stride, std::ptrdiff_t depth,
                      std::ptrdiff_t width, float* to) {
    for (std::ptrdiff_t u = 0; u < steps_of(depth) * kSide; ++u) {
        for (std::ptrdiff_t c = 0; c < kPanel; c += kWidth)
            store(to + u * kPanel + c, pairs_at(x + c, stride, 2 * u, depth, width - c));
    }
}

void product_columns(const simd::ProductOfColumns& op) {
    TileUnit unit;
    float *left = op.scratch, *right = left + kScratchA, *copy = right + kScratchB;
    for (std::ptrdiff_t t = 0; t < op.depth; t += kBlockDepth) {
        const std::ptrdiff_t depth = min(kBlockDepth, op.depth - t);
        left_of_columns(static_cast<const Bf16*>(op.a) + t * op.a_stride, op.a_stride, depth,
                        op.rows, left);
        for (std::ptrdiff_t n = 0; n < op.columns; n += kPanel) {
            const std::ptrdiff_t columns = min(kPanel, op.columns - n);
            right_of_columns(static_cast<const Bf16*>(op.b) + t * op.b_stride + n, op.b_stride,
                             depth, columns, right);
            using Out = OutPanel<float, kPanel>;
            const Out out(op.out + n, op.out_stride, op.rows, columns,
                          Out::fits(columns) ? nullptr : copy);
            out.fetch();
            multiply_panel(unit, left, right, op.rows, steps_of(depth), out.data(), out.stride(),
                           Sums::onto_c);
            out.put(Sum::none);
        }
    }
}

template <Along along, typename From>
void pack_panel(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t n, std::ptrdiff_t last,
                float* to) {
    const std::ptrdiff_t units = steps_of(K) * kSide;
    __builtin_memset(to, 0, usize(units * kPanel) * sizeof(float));
    const auto write = [&](std::ptrdiff_t k, std::ptrdiff_t c, const Vec(&square)[kWidth])
        __attribute__((always_inline)) {
        for (std::ptrdiff_t i = 0; i < kWidth; i += 2)
            store_words(to + (k + i) / 2 * kPanel + c, words_of(square[i], square[i + 1]));
    };
    for_squares<along, kPanel, From>(b, K, n, last, write);
}

template <typename From>
void pack_columns_of(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t first,
                     std::ptrdiff_t last, void* packed) {
    for (std::ptrdiff_t n = first; n < last; n += kPanel) {
        float* to = static_cast<float*>(packed) + n * steps_of(K) * kSide;
        if (b.n_stride == 1) {
            pack_panel<Along::n, From>(b, K, n, last, to);
        } else {
            pack_panel<Along::k, From>(b, K, n, last, to);
        }
    }
}

void pack_columns(const simd::MatrixView& b, std::ptrdiff_t K, std::ptrdiff_t first,
                  std::ptrdiff_t last, void* packed) {
    if (b.type == simd::Type::bf16) return pack_columns_of<Bf16>(b, K, first, last, packed);
    pack_columns_of<float>(b, K, first, last, packed);
}

std::ptrdiff_t packed_bytes(std::ptrdiff_t K, std::ptrdiff_t N) {
    return round_up(N, kPanel) * steps_of(K) * kSide * static_cast<std::ptrdiff_t>(sizeof(float));
}

}  // namespace

simd::ProductLoops products_in_tiles() {
    return {.scratch = kScratchA + kScratchB + kScratchC,
            .packed_bytes = packed_bytes,
            .pack = pack_columns,
            .rows = product_rows,
            .columns = product_columns};
}

}  // namespace rm::RM_SIMD
