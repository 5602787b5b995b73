#pragma once

#include "kernels/cpu/simd/vec.h"

// Loops over one row. The end of a row goes through the same vector code as the rest, so that an
// element's value does not depend on where the row was cut.
namespace rm::RM_SIMD {

template <typename T>
RM_INLINE Vec get(const T* from, std::ptrdiff_t count) {
    return count == kWidth ? load(from) : load_first(from, count);
}
template <typename T>
RM_INLINE void put(T* to, Vec value, std::ptrdiff_t count) {
    if (count == kWidth) return store(to, value);
    store_first(to, value, count);
}

// body(first, count) for each vector of [0, size); count is kWidth except at the end.
template <typename Body>
RM_INLINE void for_each_vec(std::ptrdiff_t size, const Body& body) {
    std::ptrdiff_t i = 0;
    for (; i + kWidth <= size; i += kWidth)
        body(i, kWidth);
    if (i < size) body(i, size - i);
}

// Sum over i of term(first, count), with a chain for each of four neighbouring vectors.
template <typename Term>
RM_INLINE float sum_each_vec(std::ptrdiff_t size, const Term& term) {
    Vec sum[4] = {};
    std::ptrdiff_t i = 0;
    for (; i + 4 * kWidth <= size; i += 4 * kWidth) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
            sum[j] += term(i + j * kWidth, kWidth);
    }
    for (; i + kWidth <= size; i += kWidth)
        sum[0] += term(i, kWidth);
    if (i < size) sum[0] += term(i, size - i);
    return sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

// `value` in the first `count` lanes, `other` in the rest.
RM_INLINE Vec first_lanes(Vec value, std::ptrdiff_t count, Vec other) {
    if (count == kWidth) return value;
    return select(lane_numbers() < static_cast<std::int32_t>(count), value, other);
}

}  // namespace rm::RM_SIMD
