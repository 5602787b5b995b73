#pragma once

#include "kernels/device/elementwise.cuh"
#include "kernels/device/numbers.h"
#include "kernels/device/vectors.h"

// Sources of FP8 rounding: load() gives neighbouring elements of a row, rounded as the op they come
// from would have written them.
namespace rm::device {

struct E4m3 {
    static constexpr bool kIsE4m3 = true;
    SIMT_FN static std::uint32_t round2(float low, float high) {
        return simt::round_e4m3x2(low, high);
    }
};
struct E5m2 {
    static constexpr bool kIsE4m3 = false;
    SIMT_FN static std::uint32_t round2(float low, float high) {
        return simt::round_e5m2x2(low, high);
    }
};

template <int kCount>
SIMT_FN void round_to_bf16(float (&x)[kCount]) {
    SIMT_UNROLL
    for (int i = 0; i < kCount; i += 2) {
        const std::uint32_t pair = pack_bf16(x[i], x[i + 1]);
        x[i] = low_bf16(pair);
        x[i + 1] = high_bf16(pair);
    }
}

template <int kCount>
SIMT_FN float largest_of(const float (&x)[kCount], float largest) {
    SIMT_UNROLL
    for (int i = 0; i < kCount; ++i)
        largest = fmaxf(largest, fabsf(x[i]));
    return largest;
}

template <typename T>
struct TensorSource {
    static constexpr const char* kAmaxName = sizeof(T) == 2 ? "fp8_amax_bf16" : "fp8_amax_f32";
    template <typename Format>
    static constexpr const char* cast_name() {
        if (sizeof(T) == 4) return Format::kIsE4m3 ? "fp8_cast_f32_e4m3" : "fp8_cast_f32_e5m2";
        return Format::kIsE4m3 ? "fp8_cast_e4m3" : "fp8_cast_e5m2";
    }

    const T* x;  // (T, C) bf16, or f32 that is rounded to it
    std::int64_t C;

    template <int kCount>
    SIMT_FN void load(std::int64_t row, std::int64_t column, float (&to)[kCount]) const {
        device::load(x + row * C + column, to);
        if constexpr (sizeof(T) == 4) round_to_bf16(to);
    }
};

// Numbers that are codes of e4m3 already.
struct CodesSource {
    template <typename Format>
    static constexpr const char* cast_name() {
        return "fp8_turn_codes";
    }

    const std::uint8_t* codes;  // (T, C)
    const float* scale;         // (1)
    std::int64_t C;

    SIMT_FN void load(std::int64_t row, std::int64_t column, float (&to)[4]) const {
        const auto word =
            *reinterpret_cast<const Words<std::uint32_t, 1>*>(codes + row * C + column);
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i)
            to[i] = from_e4m3(word.x[0] >> 8 * i & 0xff) * *scale;
    }
};

// y = x rstd weight
struct RmsNormSource {
    template <typename Format>
    static constexpr const char* cast_name() {
        return "fp8_cast_rmsnorm";
    }

    const std::uint16_t* x;  // (T, C) bf16
    const float* weight;     // (C)
    const float* rstd;       // (T)
    std::int64_t C;

    template <int kCount>
    SIMT_FN void load(std::int64_t row, std::int64_t column, float factor,
                      float (&to)[kCount]) const {
        float w[kCount];
        device::load(x + row * C + column, to);
        device::load(weight + column, w);
        SIMT_UNROLL
        for (int i = 0; i < kCount; ++i)
            to[i] = to[i] * factor * w[i];
        round_to_bf16(to);
    }
    template <int kCount>
    SIMT_FN void load(std::int64_t row, std::int64_t column, float (&to)[kCount]) const {
        load(row, column, rstd[row], to);
    }
};

// h = silu(gate) up
struct SwigluSource {
    static constexpr const char* kAmaxName = "fp8_amax_swiglu";
    template <typename Format>
    static constexpr const char* cast_name() {
        return "fp8_cast_swiglu";
    }

    const std::uint16_t* gate;  // (T, F) bf16
    const std::uint16_t* up;    // (T, F) bf16
    std::int64_t F;

    template <int kCount>
    SIMT_FN void load(std::int64_t row, std::int64_t column, float (&to)[kCount]) const {
        float u[kCount];
        device::load(gate + row * F + column, to);
        device::load(up + row * F + column, u);
        SIMT_UNROLL
        for (int i = 0; i < kCount; ++i)
            to[i] = to[i] * sigmoid(to[i]) * u[i];
        round_to_bf16(to);
    }
};

}  // namespace rm::device
