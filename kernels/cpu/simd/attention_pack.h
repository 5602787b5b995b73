#pragma once

#include "kernels/cpu/simd/attention_tile.h"
#include "kernels/cpu/simd/transpose.h"

// Copies tokens into tiles: strided, f32 or bf16, any head size -> contiguous units, padded with
// zeros.
namespace rm::RM_SIMD {

// The next numbers of a row, one unit per lane; past `count` they are zero.
template <typename Unit, typename T>
RM_INLINE Vec load_units(const T* from, std::ptrdiff_t count) {
    if (count <= 0) return Vec{};
#if defined(__AVX512BF16__)
    if constexpr (Unit::kNumbers == 2) {
        const auto mask = count < 2 * kWidth ? (1u << count) - 1 : ~0u;
        return reinterpret_cast<Vec>(_mm512_maskz_loadu_epi16(mask, from));
    }
#endif
    return count < kWidth ? load_first(from, count) : load(from);
}

// Units in a packed row of D numbers.
template <typename Unit>
RM_INLINE std::ptrdiff_t row_units(std::ptrdiff_t D) {
    return align(units<Unit>(D));
}

// to (tokens, row_units), as many tokens as fill whole blocks of rows.
template <typename Unit, typename T>
RM_INLINE void pack_rows(const simd::AttentionTokens& tokens, float* to) {
    const std::ptrdiff_t stride = row_units<Unit>(tokens.D);
    const auto* from = static_cast<const T*>(tokens.data);
    for (std::ptrdiff_t row = 0; row < tokens.count; ++row) {
        for (std::ptrdiff_t u = 0; u < stride; u += kWidth) {
            const std::ptrdiff_t d = u * Unit::kNumbers;
            store(to + row * stride + u,
                  load_units<Unit>(from + row * tokens.stride + d, tokens.D - d));
        }
    }
    for (std::ptrdiff_t row = tokens.count; row % kBlockRows != 0; ++row) {
        for (std::ptrdiff_t u = 0; u < stride; u += kWidth)
            store(to + row * stride + u, Vec{});
    }
}

// to (units of tokens, D): what a product sums over tokens.
template <typename Unit, typename T>
RM_INLINE void pack_sums(const simd::AttentionTokens& tokens, float* to) {
    if constexpr (Unit::kNumbers == 1) {
        pack_rows<Unit, T>(tokens, to);
    } else {
        const std::ptrdiff_t width = align(tokens.D);
        const auto* from = static_cast<const T*>(tokens.data);
        const auto bits = [&](std::ptrdiff_t row, std::ptrdiff_t d) __attribute__((always_inline)) {
            const std::ptrdiff_t count = row < tokens.count ? tokens.D - d : 0;
            return reinterpret_cast<VecU>(load_units<Float>(from + row * tokens.stride + d, count));
        };
        for (std::ptrdiff_t row = 0; row < tokens.count; row += 2) {
            for (std::ptrdiff_t d = 0; d < width; d += kWidth) {
                const VecU pairs = bits(row, d) >> 16 | bits(row + 1, d);
                store(to + row / 2 * width + d, reinterpret_cast<Vec>(pairs));
            }
        }
    }
}

// to (row_units, 64): tokens past the last become zero.
template <typename Unit, typename T>
RM_INLINE void pack_columns(const simd::AttentionTokens& tokens, float* to) {
    const auto* from = static_cast<const T*>(tokens.data);
    for (std::ptrdiff_t row = 0; row < kTokens; row += kWidth) {
        for (std::ptrdiff_t u = 0; u < units<Unit>(tokens.D); u += kWidth) {
            const std::ptrdiff_t d = u * Unit::kNumbers;
            Vec block[kWidth];
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i) {
                const std::ptrdiff_t count = row + i < tokens.count ? tokens.D - d : 0;
                block[i] = load_units<Unit>(from + (row + i) * tokens.stride + d, count);
            }
            transpose_square(block);
#pragma GCC unroll 16
            for (int i = 0; i < kWidth; ++i)
                store(to + (u + i) * kTokens + row, block[i]);
        }
    }
}

}  // namespace rm::RM_SIMD
