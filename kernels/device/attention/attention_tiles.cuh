#pragma once

#include "kernels/device/tile.h"
#include "kernels/device/vectors.h"

// One head of consecutive tokens in global memory, and how it comes into the tiles of tile.h. D may
// be less than a tile's columns: columns past D and rows past the last token become 0, so that they
// add nothing to any product, and are never written.
namespace rm::device {

// T is std::uint16_t (bf16) or float; of a tensor (tokens, heads, D).
template <typename T>
struct HeadRows {
    T* data = nullptr;
    int stride = 0;  // elements from token to token
    int count = 0;   // tokens
    int D = 0;       // a multiple of 8

    // Within the few rows of a tile 32 bits suffice.
    SIMT_FN T* at(int row, int column) const { return data + row * stride + column; }
};
template <typename T>
SIMT_FN HeadRows<T> head_rows(T* data, int heads, int D, int head, int token, int count) {
    const std::int64_t row = static_cast<std::int64_t>(token) * heads + head;
    return {data + row * D, heads * D, count, D};
}

// Starts copying into a shared tile, by all threads of the block. The caller commits.
template <int kThreads, int kRows, int kColumns>
SIMT_FN void copy_async(SharedTile<kRows, kColumns>& to,
                        const HeadRows<const std::uint16_t>& from) {
    constexpr int kChunks = kColumns / 8, kRowsPerRound = kThreads / kChunks;
    static_assert(kThreads % kChunks == 0, "a thread stays in its column");
    static_assert(kRows % kRowsPerRound == 0, "all threads copy in every round");
    const int column = simt::thread() % kChunks * 8;
    SIMT_UNROLL
    for (int first = 0; first < kRows; first += kRowsPerRound) {
        const int row = first + simt::thread() / kChunks;
        const bool inside = row < from.count && column < from.D;
        simt::cp_async_16(&to.element(row, column), inside ? from.at(row, column) : from.data,
                          inside ? 16 : 0);
    }
}

// visit(j, r, at): `at` is where the lane's pair of row half r in columns 8j to 8j + 7 lies. Skips
// what does not exist.
template <int kColumns, typename T, typename Visit>
SIMT_FN void each_pair(const HeadRows<T>& rows, const Visit& visit) {
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
        const int row = fragment_row(2 * r);
        if (row >= rows.count) continue;
        T* first = rows.at(row, fragment_column(0));
        SIMT_UNROLL
        for (int j = 0; j < kColumns / kMmaColumns; ++j) {
            if (j * kMmaColumns < rows.D) visit(j, r, first + j * kMmaColumns);
        }
    }
}

// 16 rows as a left operand straight from global memory: once per block, so that a round trip
// through shared memory would cost its space for nothing.
template <int kColumns>
SIMT_FN void load(OperandTile<kMmaRows, kColumns>& to, const HeadRows<const std::uint16_t>& from) {
    to = {};
    each_pair<kColumns>(from, [&](int j, int r, const std::uint16_t* at) {
        to.x[0][j / 2][j % 2 * 2 + r] = load_packed<2>(at).x[0];
    });
}
// 16 rows of sums.
template <int kColumns>
SIMT_FN void load(RegisterTile<kMmaRows, kColumns>& to, const HeadRows<float>& from) {
    fill(to, 0);
    each_pair<kColumns>(from, [&](int j, int r, const float* at) {
        const FloatPair pair = load_pair(at);
        to.x[0][j][2 * r] = pair.left;
        to.x[0][j][2 * r + 1] = pair.right;
    });
}
template <int kColumns>
SIMT_FN void store(const HeadRows<float>& to, const RegisterTile<kMmaRows, kColumns>& from) {
    each_pair<kColumns>(to, [&](int j, int r, float* at) {
        store_pair(at, from.x[0][j][2 * r], from.x[0][j][2 * r + 1]);
    });
}

}  // namespace rm::device
