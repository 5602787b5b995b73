#pragma once

#include <cstdint>

#include "kernels/simt/simt.h"

// Number formats inside kernels. bf16 is kept as bits, two to a register.
namespace rm::device {

// Two floats that are moved together.
struct alignas(8) FloatPair {
    float left;
    float right;
};

using simt::FloatBits;

SIMT_FN float not_a_number() {
    FloatBits f;
    f.bits = 0x7fffffff;
    return f.value;
}

SIMT_FN float from_bf16(std::uint16_t x) {
    FloatBits f;
    f.bits = static_cast<std::uint32_t>(x) << 16;
    return f.value;
}

// To nearest, ties to even; every NaN becomes 0x7fff.
SIMT_FN std::uint16_t to_bf16(float x) {
    return static_cast<std::uint16_t>(simt::round_bf16x2(x, 0));
}

// Two to a register, one instruction.
SIMT_FN std::uint32_t pack_bf16(float low, float high) {
    return simt::round_bf16x2(low, high);
}
SIMT_FN float low_bf16(std::uint32_t packed) {
    FloatBits f;
    f.bits = packed << 16;
    return f.value;
}
SIMT_FN float high_bf16(std::uint32_t packed) {
    FloatBits f;
    f.bits = packed & 0xffff0000u;
    return f.value;
}

SIMT_FN float from_e4m3(std::uint32_t code) {
    const std::uint32_t size = code & 0x7f;
    if (size == 0x7f) return not_a_number();
    FloatBits f;
    f.bits = (size << 20) + (120u << 23);
    if (size < 8) f.value = static_cast<float>(size) * 0x1p-9f;
    return code < 0x80 ? f.value : -f.value;
}

// The largest power of two under largest / amax (kernels/fp8.h).
SIMT_FN float fp8_scale(float largest, float amax) {
    if (!(amax > 0) || !(amax < INFINITY)) return 1;
    FloatBits scale;
    scale.value = fminf(largest / amax, 0x1p126f);
    scale.bits &= 0x7f800000;
    return scale.value;
}
SIMT_FN float e4m3_scale(float amax) {
    return fp8_scale(448.0f, amax);
}

}  // namespace rm::device
