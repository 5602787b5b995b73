#pragma once

#include <utility>

#include "kernels/cpu/simd/attention_tile.h"

// Copies tokens into tiles: strided, bf16 or f32, any head size -> contiguous, padded with zeros.
namespace rm::RM_SIMD {

template <typename T>
RM_INLINE Vec load_some(const T* from, std::ptrdiff_t count) {
    if (count >= kWidth) return load(from);
    return count > 0 ? load_first(from, count) : Vec{};
}

// to (tokens, width), as many tokens as fill whole blocks of rows.
template <typename T>
RM_INLINE void pack_rows(const simd::AttentionTokens& tokens, float* to) {
    const std::ptrdiff_t width = width_of(tokens.D);
    const auto* from = static_cast<const T*>(tokens.data);
    for (std::ptrdiff_t row = 0; row < tokens.count; ++row) {
        for (std::ptrdiff_t d = 0; d < width; d += kWidth)
            store(to + row * width + d, load_some(from + row * tokens.stride + d, tokens.D - d));
    }
    for (std::ptrdiff_t row = tokens.count; row % kBlockRows != 0; ++row) {
        for (std::ptrdiff_t d = 0; d < width; d += kWidth)
            store(to + row * width + d, Vec{});
    }
}

// Lanes of the first (half = 0) or second half of a and b in turn: a0 b0 a1 b1 ...
template <int half, int... lane>
RM_INLINE Vec interleave(Vec a, Vec b, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(
        a, b, (half * kWidth / 2 + lane / 2 + (lane % 2 == 0 ? 0 : kWidth))...);
}

// Rows become columns: log2(kWidth) rounds of perfect shuffles.
RM_INLINE void transpose_block(Vec (&block)[kWidth]) {
    constexpr auto kLanes = std::make_integer_sequence<int, kWidth>{};
#pragma GCC unroll 4
    for (int round = 1; round < kWidth; round *= 2) {
        Vec next[kWidth];
#pragma GCC unroll 8
        for (int i = 0; i < kWidth / 2; ++i) {
            next[2 * i] = interleave<0>(block[i], block[i + kWidth / 2], kLanes);
            next[2 * i + 1] = interleave<1>(block[i], block[i + kWidth / 2], kLanes);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kWidth; ++i)
            block[i] = next[i];
    }
}

// to (width, 64): tokens past the last become zero.
template <typename T>
RM_INLINE void pack_columns_of(const simd::AttentionTokens& tokens, float* to) {
    const auto* from = static_cast<const T*>(tokens.data);
    for (std::ptrdiff_t row = 0; row < kTokens; row += kWidth) {
        for (std::ptrdiff_t d = 0; d < tokens.D; d += kWidth) {
            Vec block[kWidth];
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i) {
                block[i] = row + i < tokens.count
                               ? load_some(from + (row + i) * tokens.stride + d, tokens.D - d)
                               : Vec{};
            }
            transpose_block(block);
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                store(to + (d + i) * kTokens + row, block[i]);
        }
    }
}

}  // namespace rm::RM_SIMD
