#pragma once

#include <utility>

#include "kernels/cpu/simd/vec.h"

namespace rm::RM_SIMD {

// a0 b0 a1 b1 ...: of the lower halves of two vectors, or of the upper ones.
template <int first, std::size_t... i>
RM_INLINE Vec interleave(Vec a, Vec b, std::index_sequence<i...>) {
    return __builtin_shufflevector(
        a, b, (first + static_cast<int>(i) / 2 + static_cast<int>(i) % 2 * kWidth)...);
}

// Transposes a square of lanes: each stage of the perfect shuffle moves one bit of the row number
// into the lane number.
RM_INLINE void transpose_square(Vec (&rows)[kWidth]) {
    constexpr auto kLanes = std::make_index_sequence<kWidth>{};
    Vec next[kWidth];
#pragma GCC unroll 4
    for (int stage = 1; stage < kWidth; stage *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < kWidth / 2; ++i) {
            next[2 * i] = interleave<0>(rows[i], rows[i + kWidth / 2], kLanes);
            next[2 * i + 1] = interleave<kWidth / 2>(rows[i], rows[i + kWidth / 2], kLanes);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kWidth; ++i)
            rows[i] = next[i];
    }
}

}  // namespace rm::RM_SIMD
