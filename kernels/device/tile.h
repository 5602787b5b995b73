#pragma once

#include "kernels/device/numbers.h"
#include "kernels/simt/simt.h"

// The vocabulary of kernels for matrix tiles. Each tile belongs to one warp. Everything is
// unrolled, so that tiles stay in registers.
//
//   SharedTile<R, C>      bf16 in shared memory, rows of C, swizzled; .at(row, column) is a view
//   OperandTile<R, C>     bf16 in registers, the left operand of a product (the A of mma.sync)
//   RegisterTile<R, C>    fp32 in registers, what products are summed into (the C of mma.sync)
//   RowValues<R>          one fp32 per row; the four lanes of a row hold the same
//
//   mma_AB                c += a b       b is kept as (K, N)
//   mma_ABt               c += a b^T     b is kept as (N, K)
//   mma_AtB               c += a^T b     a is kept as (K, M), b as (K, N); both shared
//   row_max, row_sum      merged into what the RowValues hold
//   scale_rows, to_operand, store, for_each
namespace rm::device {

constexpr int kMmaRows = 16;  // of mma.m16n8k16
constexpr int kMmaColumns = 8;
constexpr int kMmaDepth = 16;

// Element e of a lane's four sums of a 16 x 8 tile (PTX ISA, mma.m16n8k16, matrix C).
SIMT_FN int fragment_row(int e) {
    return simt::lane() / 4 + 8 * (e / 2);
}
SIMT_FN int fragment_column(int e) {
    return 2 * (simt::lane() % 4) + e % 2;
}

template <int kRows, int kColumns>
struct RegisterTile {
    static_assert(kRows % kMmaRows == 0 && kColumns % kMmaColumns == 0);
    float x[kRows / kMmaRows][kColumns / kMmaColumns][4];
};
template <int kRows, int kColumns>
struct OperandTile {
    static_assert(kRows % kMmaRows == 0 && kColumns % kMmaDepth == 0);
    std::uint32_t x[kRows / kMmaRows][kColumns / kMmaDepth][4];
};
template <int kRows>
struct RowValues {
    static_assert(kRows % kMmaRows == 0);
    float x[kRows / kMmaRows][2];  // rows lane / 4 and lane / 4 + 8 of every 16
};

// A row is cut in chunks of 16 bytes; chunk c of row r lies at place c ^ phase(r), so that the
// eight rows of an ldmatrix tile, and the eight chunks of a row, lie in different banks.
template <int kColumns>
struct Swizzle {
    static constexpr int kChunks = kColumns / 8;
    static_assert(kChunks == 2 || kChunks == 4 || kChunks % 8 == 0,
                  "a row is 16, 32 or a multiple of 64 elements");
    // Rows shorter than 128 bytes share a line of banks.
    static constexpr int kShift = kChunks == 2 ? 2 : kChunks == 4 ? 1 : 0;

    SIMT_FN static int phase(int row) { return (row & 7) >> kShift; }
    // The place of a chunk, in elements.
    SIMT_FN static int offset(int row, int chunk) {
        return row * kColumns + (chunk ^ phase(row)) * 8;
    }
};

// A part of a shared tile that starts at (row, column); row in multiples of 8, column of 8.
template <int kColumns>
struct TileView {
    std::uint16_t* x;
    int row;
    int column;
    // The chunk of 8 elements at (row + r, column + c); r = multiple of 8 + `r_low`.
    SIMT_FN std::uint16_t* chunk(int r_high, int r_low, int c) const {
        constexpr int kShift = Swizzle<kColumns>::kShift;
        // Only chunks within 128 bytes change places: whole lines stay constants of the address.
        const int wanted = (column + c) / 8, line = wanted & ~7;
        const int place = line + ((wanted ^ (r_low & 7) >> kShift) & 7);
        return x + (row + r_high + r_low) * kColumns + place * 8;
    }
};

template <int kRows, int kColumns>
struct SharedTile {
    static constexpr int kNumRows = kRows;
    static constexpr int kNumColumns = kColumns;
    alignas(128) std::uint16_t x[kRows * kColumns];

    SIMT_FN TileView<kColumns> at(int row, int column) { return {x, row, column}; }
    SIMT_FN std::uint16_t& element(int row, int column) {
        return x[Swizzle<kColumns>::offset(row, column / 8) + column % 8];
    }
};

template <int kRows, int kColumns>
SIMT_FN void fill(RegisterTile<kRows, kColumns>& tile, float value) {
    SIMT_UNROLL
    for (auto& row : tile.x) {
        SIMT_UNROLL
        for (auto& fragment : row) {
            SIMT_UNROLL
            for (float& x : fragment)
                x = value;
        }
    }
}
template <int kRows>
SIMT_FN void fill(RowValues<kRows>& values, float value) {
    SIMT_UNROLL
    for (auto& pair : values.x)
        pair[0] = pair[1] = value;
}

// One 16 x 16 left operand, from a tile that is kept as (M, K) or as (K, M).
template <int kColumns>
SIMT_FN void load_fragment_a(std::uint32_t (&a)[4], const TileView<kColumns>& from, int m, int k) {
    simt::ldmatrix_x4(a, from.chunk(m, simt::lane() % 16, k + simt::lane() / 16 * 8));
}
template <int kColumns>
SIMT_FN void load_fragment_at(std::uint32_t (&a)[4], const TileView<kColumns>& from, int m, int k) {
    const int low = simt::lane() % 8 + simt::lane() / 16 * 8;
    simt::ldmatrix_x4_trans(a, from.chunk(k, low, m + simt::lane() / 8 % 2 * 8));
}
// Two 16 x 8 right operands (b[0], b[1] and b[2], b[3]: columns n and n + 8), from a tile that is
// kept as (K, N) or as (N, K).
template <int kColumns>
SIMT_FN void load_fragments_b(std::uint32_t (&b)[4], const TileView<kColumns>& from, int k, int n) {
    simt::ldmatrix_x4_trans(b, from.chunk(k, simt::lane() % 16, n + simt::lane() / 16 * 8));
}
template <int kColumns>
SIMT_FN void load_fragments_bt(std::uint32_t (&b)[4], const TileView<kColumns>& from, int k,
                               int n) {
    const int low = simt::lane() % 8 + simt::lane() / 16 * 8;
    simt::ldmatrix_x4(b, from.chunk(n, low, k + simt::lane() / 8 % 2 * 8));
}

// c[i] += a[i] b for the 16 x 16 piece of b whose fragments are given; n in 16 columns.
template <int kM, int kN>
SIMT_FN void multiply_fragments(RegisterTile<kM, kN>& c, const std::uint32_t (&a)[kM / 16][4],
                                const std::uint32_t (&b)[4], int n) {
    const std::uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
    SIMT_UNROLL
    for (int i = 0; i < kM / kMmaRows; ++i) {
        simt::mma_bf16(c.x[i][2 * n], a[i], left);
        simt::mma_bf16(c.x[i][2 * n + 1], a[i], right);
    }
}

// load_a(a, m, k) and load_b(b, k, n) give the fragments that start there.
template <int kK, int kM, int kN, typename LoadA, typename LoadB>
SIMT_FN void multiply(RegisterTile<kM, kN>& c, const LoadA& load_a, const LoadB& load_b) {
    static_assert(kN % 16 == 0, "fragments of b are loaded in pairs");
    SIMT_UNROLL
    for (int k = 0; k < kK; k += kMmaDepth) {
        std::uint32_t a[kM / kMmaRows][4];
        SIMT_UNROLL
        for (int i = 0; i < kM / kMmaRows; ++i)
            load_a(a[i], i * kMmaRows, k);
        SIMT_UNROLL
        for (int n = 0; n < kN / 16; ++n) {
            std::uint32_t b[4];
            load_b(b, k, n * 16);
            multiply_fragments(c, a, b, n);
        }
    }
}
// Where multiply() gets its fragments: of a from registers, or from a view of it or of a^T; of b
// from a view of it or of b^T.
template <int kM, int kK>
SIMT_FN auto from_registers(const OperandTile<kM, kK>& a) {
    return [&a](std::uint32_t(&fragment)[4], int m, int k) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e)
            fragment[e] = a.x[m / kMmaRows][k / kMmaDepth][e];
    };
}
template <int kColumns>
SIMT_FN auto from_a(const TileView<kColumns>& a) {
    return [&a](std::uint32_t(&x)[4], int m, int k) { load_fragment_a(x, a, m, k); };
}
template <int kColumns>
SIMT_FN auto from_at(const TileView<kColumns>& at) {
    return [&at](std::uint32_t(&x)[4], int m, int k) { load_fragment_at(x, at, m, k); };
}
template <int kColumns>
SIMT_FN auto from_b(const TileView<kColumns>& b) {
    return [&b](std::uint32_t(&x)[4], int k, int n) { load_fragments_b(x, b, k, n); };
}
template <int kColumns>
SIMT_FN auto from_bt(const TileView<kColumns>& bt) {
    return [&bt](std::uint32_t(&x)[4], int k, int n) { load_fragments_bt(x, bt, k, n); };
}

// c += a b^T, b kept as (N, K): scores = q k^T.
template <int kM, int kN, int kK, int kColumns>
SIMT_FN void mma_ABt(RegisterTile<kM, kN>& c, const OperandTile<kM, kK>& a,
                     const TileView<kColumns>& b) {
    multiply<kK>(c, from_registers(a), from_bt(b));
}
template <int kK, int kM, int kN, int kColumnsA, int kColumnsB>
SIMT_FN void mma_ABt(RegisterTile<kM, kN>& c, const TileView<kColumnsA>& a,
                     const TileView<kColumnsB>& b) {
    multiply<kK>(c, from_a(a), from_bt(b));
}

// c += a b, b kept as (K, N): out = p v.
template <int kM, int kN, int kK, int kColumns>
SIMT_FN void mma_AB(RegisterTile<kM, kN>& c, const OperandTile<kM, kK>& a,
                    const TileView<kColumns>& b) {
    multiply<kK>(c, from_registers(a), from_b(b));
}

// c += a^T b, a kept as (K, M), b as (K, N): d_v = p^T d_out.
template <int kK, int kM, int kN, int kColumnsA, int kColumnsB>
SIMT_FN void mma_AtB(RegisterTile<kM, kN>& c, const TileView<kColumnsA>& a,
                     const TileView<kColumnsB>& b) {
    multiply<kK>(c, from_at(a), from_b(b));
}

// f(x, row, column, i, r) for every element that this lane holds; RowValues::x[i][r] is its row's.
template <int kRows, int kColumns, typename F>
SIMT_FN void for_each(RegisterTile<kRows, kColumns>& tile, const F& f) {
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int j = 0; j < kColumns / kMmaColumns; ++j) {
            SIMT_UNROLL
            for (int e = 0; e < 4; ++e)
                f(tile.x[i][j][e], i * kMmaRows + fragment_row(e),
                  j * kMmaColumns + fragment_column(e), i, e / 2);
        }
    }
}

// The maximum, or the sum, over the four lanes of a row, in all four.
SIMT_FN float quad_max(float x) {
    x = fmaxf(x, simt::shfl_xor(x, 1));
    return fmaxf(x, simt::shfl_xor(x, 2));
}
SIMT_FN float quad_sum(float x) {
    x += simt::shfl_xor(x, 1);
    return x + simt::shfl_xor(x, 2);
}

// max = max(max, the row's largest), in all lanes of the row.
template <int kRows, int kColumns>
SIMT_FN void row_max(RowValues<kRows>& max, const RegisterTile<kRows, kColumns>& tile) {
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int r = 0; r < 2; ++r) {
            float largest = max.x[i][r];
            SIMT_UNROLL
            for (int j = 0; j < kColumns / kMmaColumns; ++j)
                largest = fmaxf(largest, fmaxf(tile.x[i][j][2 * r], tile.x[i][j][2 * r + 1]));
            max.x[i][r] = quad_max(largest);
        }
    }
}
// sum += the elements of the row that this lane holds. The lanes' parts are added by quad_sum when
// the sum is wanted: once, instead of for every tile.
template <int kRows, int kColumns>
SIMT_FN void row_partial_sum(RowValues<kRows>& sum, const RegisterTile<kRows, kColumns>& tile) {
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int r = 0; r < 2; ++r) {
            SIMT_UNROLL
            for (int j = 0; j < kColumns / kMmaColumns; ++j)
                sum.x[i][r] += tile.x[i][j][2 * r] + tile.x[i][j][2 * r + 1];
        }
    }
}
// sum = the sum of the row, in all its lanes.
template <int kRows, int kColumns>
SIMT_FN void row_sum(RowValues<kRows>& sum, const RegisterTile<kRows, kColumns>& tile) {
    fill(sum, 0);
    row_partial_sum(sum, tile);
    SIMT_UNROLL
    for (auto& pair : sum.x) {
        pair[0] = quad_sum(pair[0]);
        pair[1] = quad_sum(pair[1]);
    }
}
template <int kRows, int kColumns>
SIMT_FN void scale_rows(RegisterTile<kRows, kColumns>& tile, const RowValues<kRows>& factor) {
    for_each(tile, [&](float& x, int, int, int i, int r) { x *= factor.x[i][r]; });
}

// Rounds sums to bf16 as a left operand: no lane gives anything to another, because the C fragments
// of two neighbouring 16 x 8 tiles are the A fragment of one 16 x 16 tile.
template <int kRows, int kColumns>
SIMT_FN void to_operand(OperandTile<kRows, kColumns>& to,
                        const RegisterTile<kRows, kColumns>& from) {
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int k = 0; k < kColumns / kMmaDepth; ++k) {
            SIMT_UNROLL
            for (int e = 0; e < 4; ++e) {
                const float* pair = &from.x[i][2 * k + e / 2][e % 2 * 2];
                to.x[i][k][e] = pack_bf16(pair[0], pair[1]);
            }
        }
    }
}

// Rounds sums to bf16 into shared memory.
template <int kRows, int kColumns, int kTileColumns>
SIMT_FN void store(const TileView<kTileColumns>& to, const RegisterTile<kRows, kColumns>& from) {
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int j = 0; j < kColumns / kMmaColumns; ++j) {
            SIMT_UNROLL
            for (int r = 0; r < 2; ++r) {
                std::uint16_t* chunk =
                    to.chunk(i * kMmaRows + 8 * r, simt::lane() / 4, j * kMmaColumns);
                const float* pair = &from.x[i][j][2 * r];
                *reinterpret_cast<std::uint32_t*>(chunk + fragment_column(0)) =
                    pack_bf16(pair[0], pair[1]);
            }
        }
    }
}

// Two neighbouring sums of a row in global memory.
SIMT_FN void store_pair(float* to, float left, float right) {
    *reinterpret_cast<FloatPair*>(to) = {left, right};
}
SIMT_FN FloatPair load_pair(const float* from) {
    return *reinterpret_cast<const FloatPair*>(from);
}

}  // namespace rm::device
