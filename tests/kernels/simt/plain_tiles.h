#pragma once

#include "kernels/device/tile.h"

// Moves tiles from and to plain matrices, for tests; kernels move heads (attention_tiles.cuh).
namespace rm::device {

// Copies rows [0, num_rows) of `from`, `stride` elements apart, into the tile and zeros the tile's
// other rows. All kThreads threads call it; cp_async_wait and a barrier complete it.
template <int kThreads, int kRows, int kColumns>
SIMT_FN void load_async(SharedTile<kRows, kColumns>& tile, const std::uint16_t* from,
                        std::int64_t stride, int num_rows) {
    constexpr int kChunks = kColumns / 8;
    constexpr int kRounds = (kRows * kChunks + kThreads - 1) / kThreads;
    SIMT_UNROLL
    for (int i = 0; i < kRounds; ++i) {
        const int place = i * kThreads + simt::thread();
        if (kRows * kChunks % kThreads != 0 && place >= kRows * kChunks) break;
        const int row = place / kChunks, chunk = place % kChunks;
        const bool inside = row < num_rows;
        simt::cp_async_16(tile.x + Swizzle<kColumns>::offset(row, chunk),
                          from + (inside ? row * stride + chunk * 8 : 0), inside ? 16 : 0);
    }
}

// Reads from shared memory (ldmatrix).
template <int kRows, int kK, int kColumns>
SIMT_FN void load(OperandTile<kRows, kK>& a, const TileView<kColumns>& from) {
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int k = 0; k < kK / kMmaDepth; ++k)
            load_fragment_a(a.x[i][k], from, i * kMmaRows, k * kMmaDepth);
    }
}
SIMT_FN void store_pair(std::uint16_t* to, float left, float right) {
    *reinterpret_cast<std::uint32_t*>(to) = pack_bf16(left, right);
}
SIMT_FN FloatPair load_pair(const std::uint16_t* from) {
    const auto packed = *reinterpret_cast<const std::uint32_t*>(from);
    return {low_bf16(packed), high_bf16(packed)};
}

// Writes rows [0, num_rows) of the tile to global memory, `stride` (even) apart, fp32 or bf16.
template <int kRows, int kColumns, typename T>
SIMT_FN void store(T* to, std::int64_t stride, const RegisterTile<kRows, kColumns>& from,
                   int num_rows) {
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int r = 0; r < 2; ++r) {
            const int row = i * kMmaRows + fragment_row(2 * r);
            if (row >= num_rows) continue;
            SIMT_UNROLL
            for (int j = 0; j < kColumns / kMmaColumns; ++j)
                store_pair(to + row * stride + j * kMmaColumns + fragment_column(0),
                           from.x[i][j][2 * r], from.x[i][j][2 * r + 1]);
        }
    }
}
// Reads rows [0, num_rows) from global memory and zeros the tile's other rows.
template <int kRows, int kColumns, typename T>
SIMT_FN void load(RegisterTile<kRows, kColumns>& to, const T* from, std::int64_t stride,
                  int num_rows) {
    fill(to, 0);
    SIMT_UNROLL
    for (int i = 0; i < kRows / kMmaRows; ++i) {
        SIMT_UNROLL
        for (int r = 0; r < 2; ++r) {
            const int row = i * kMmaRows + fragment_row(2 * r);
            if (row >= num_rows) continue;
            SIMT_UNROLL
            for (int j = 0; j < kColumns / kMmaColumns; ++j) {
                const FloatPair pair =
                    load_pair(from + row * stride + j * kMmaColumns + fragment_column(0));
                to.x[i][j][2 * r] = pair.left;
                to.x[i][j][2 * r + 1] = pair.right;
            }
        }
    }
}

}  // namespace rm::device
