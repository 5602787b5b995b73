#pragma once

#include <cstddef>
#include <cstdint>

namespace rm::simd {

// The effect of rounding on a row: Fp8Effect of kernels/ops/fp8_linear.h, with sums of scaled
// numbers.
struct Fp8RowEffect {
    std::uint32_t nonzero = 0, flushed = 0, saturated = 0, nonfinite = 0;
    float squares = 0, squared_error = 0;
};

// Rounding to one format of FP8, and back, bit for bit as kernels/fp8.h defines it. Sizes are
// multiples of 16.
template <typename T>
struct Fp8FormatLoops {
    void (*round)(const T* x, float factor, std::uint8_t* codes, std::ptrdiff_t size);
    // Each number with a factor of its own.
    void (*round_each)(const T* x, const float* factors, std::uint8_t* codes, std::ptrdiff_t size);
    void (*widen)(const std::uint8_t* codes, float scale, T* y, std::ptrdiff_t size);
    void (*widen_each)(const std::uint8_t* codes, const float* scales, T* y, std::ptrdiff_t size);
    // codes: those of x, in no format with infinities.
    Fp8RowEffect (*observe)(const T* x, const std::uint8_t* codes, float factor,
                            std::ptrdiff_t size);
};

template <typename T>
struct Fp8Loops {
    // The largest size; NaNs are left out.
    float (*largest)(const T* x, std::ptrdiff_t size);
    // sizes[i] becomes |x[i]| where that is larger; NaNs are left out.
    void (*larger)(const T* x, float* sizes, std::ptrdiff_t size);
    Fp8FormatLoops<T> e4m3, e5m2;
};

}  // namespace rm::simd
