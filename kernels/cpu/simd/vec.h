#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
// g++ 12 takes the undefined operands inside some intrinsics for mistakes.
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

// One SIMD register of floats in GCC's vector extensions, as wide as the flags of the including
// file allow. Only files that are compiled once per instruction set (RM_SIMD names the namespace of
// the copy) include this; they use no inline functions of shared headers, because the linker would
// be free to keep the copy a smaller CPU cannot run.
namespace rm::RM_SIMD {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
constexpr int kMicroRows = 8;  // 8 x 2 accumulators of 32 registers
#elif defined(__AVX2__)
constexpr int kWidth = 8;
constexpr int kMicroRows = 4;  // 4 x 2 accumulators of 16 registers
#else
constexpr int kWidth = 4;
constexpr int kMicroRows = 4;
#endif
constexpr int kMicroVecs = 2;
constexpr int kMicroColumns = kMicroVecs * kWidth;

typedef float Vec __attribute__((vector_size(4 * kWidth)));
typedef std::int32_t VecI __attribute__((vector_size(4 * kWidth)));
typedef std::uint16_t Bf16;

typedef std::uint32_t VecU __attribute__((vector_size(4 * kWidth)));
typedef Bf16 Halves __attribute__((vector_size(2 * kWidth)));
typedef Bf16 HalvesInMemory __attribute__((vector_size(2 * kWidth), aligned(2), may_alias));
typedef std::int32_t IntInMemory __attribute__((aligned(2), may_alias));
typedef std::int32_t VecIInMemory __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
typedef float VecInMemory __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));

#define RM_INLINE static inline __attribute__((always_inline))

RM_INLINE Vec load(const float* from) {
    return *reinterpret_cast<const VecInMemory*>(from);
}
RM_INLINE void store(float* to, Vec value) {
    *reinterpret_cast<VecInMemory*>(to) = value;
}
RM_INLINE Vec splat(float value) {
    return value - Vec{};
}
RM_INLINE VecI splat(std::int32_t value) {
    return value - VecI{};
}

// The first `count` lanes, the rest zero; for the ends of rows.
RM_INLINE Vec load_first(const float* from, std::ptrdiff_t count) {
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
#else
    Vec value{};
    for (int i = 0; i < kWidth && i < count; ++i)
        value[i] = from[i];
    return value;
#endif
}
RM_INLINE void store_first(float* to, Vec value, std::ptrdiff_t count) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), value);
#else
    for (int i = 0; i < kWidth && i < count; ++i)
        to[i] = value[i];
#endif
}

// bf16 in memory, f32 in registers. Storing rounds to nearest, ties to even, and keeps NaN; the
// bf16 instructions take denormals for zero.
RM_INLINE Vec widen(Halves value) {
    return reinterpret_cast<Vec>(__builtin_convertvector(value, VecU) << 16);
}
RM_INLINE Halves narrow(Vec value) {
#if defined(__AVX512BF16__)
    return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(value));
#else
    const VecU bits = reinterpret_cast<VecU>(value);
    const VecU rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    return __builtin_convertvector((value == value ? rounded : bits | 0x400000u) >> 16, Halves);
#endif
}
RM_INLINE Vec round_to_bf16(Vec value) {
    return widen(narrow(value));
}
RM_INLINE Vec load(const Bf16* from) {
    return widen(*reinterpret_cast<const HalvesInMemory*>(from));
}
RM_INLINE void store(Bf16* to, Vec value) {
    *reinterpret_cast<HalvesInMemory*>(to) = narrow(value);
}
RM_INLINE Vec load_first(const Bf16* from, std::ptrdiff_t count) {
#if defined(__AVX512BW__)
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    return widen(reinterpret_cast<Halves>(_mm256_maskz_loadu_epi16(mask, from)));
#else
    Halves value{};
    for (int i = 0; i < kWidth && i < count; ++i)
        value[i] = from[i];
    return widen(value);
#endif
}
RM_INLINE void store_first(Bf16* to, Vec value, std::ptrdiff_t count) {
    const Halves rounded = narrow(value);
#if defined(__AVX512BW__)
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    _mm256_mask_storeu_epi16(to, mask, reinterpret_cast<__m256i>(rounded));
#else
    for (int i = 0; i < kWidth && i < count; ++i)
        to[i] = rounded[i];
#endif
}

#if defined(__AVX512BF16__)
// Per lane the sum of two products of bf16, added in f32: each 32-bit lane of `a` and `b` holds two
// numbers, the one of the lower address first. The processor adds the second product first.
RM_INLINE Vec add_pairs(Vec sum, VecI a, VecI b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}
#endif

RM_INLINE VecI lane_numbers() {
    VecI lanes{};
    for (int i = 0; i < kWidth; ++i)
        lanes[i] = i;
    return lanes;
}

// Per lane, where `condition` is all ones or zero.
RM_INLINE Vec select(VecI condition, Vec yes, Vec no) {
    return condition ? yes : no;
}

// `b` when either is NaN.
RM_INLINE Vec max(Vec a, Vec b) {
#if defined(__AVX512F__)
    return _mm512_max_ps(a, b);
#else
    return a > b ? a : b;
#endif
}

// Halves are folded onto each other, so the order of the sum is fixed.
RM_INLINE float sum_lanes(Vec value) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps(value);
#else
    for (int half = kWidth / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i)
            value[i] += value[i + half];
    }
    return value[0];
#endif
}
RM_INLINE float max_lanes(Vec value) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps(value);
#else
    for (int half = kWidth / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i)
            value[i] = value[i] > value[i + half] ? value[i] : value[i + half];
    }
    return value[0];
#endif
}

constexpr float kLog2E = 1.44269504088896340736f;

// 2^x for x <= 127, correct to about 1 ulp; 0 for x < -126, NaN for NaN. The nearest integer goes
// into the exponent and 2^r, r in [-1/2, 1/2], is a minimax polynomial (relative error 2e-9).
RM_INLINE Vec exp2_vec(Vec x) {
    const Vec magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Vec shifted = x + magic;
    const Vec r = x - (shifted - magic);
    Vec p = splat(1.53458205e-4f);
    p = p * r + 1.33999313e-3f;
    p = p * r + 9.61848892e-3f;
    p = p * r + 5.55032878e-2f;
    p = p * r + 2.40226469e-1f;
    p = p * r + 6.93147206e-1f;
    p = p * r + 1.0f;
    const VecU bits = reinterpret_cast<VecU>(p) + (reinterpret_cast<VecU>(shifted) << 23);
    return select(x >= -126.0f, reinterpret_cast<Vec>(bits), max(Vec{}, x));
}

}  // namespace rm::RM_SIMD
