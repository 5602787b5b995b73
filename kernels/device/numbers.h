#pragma once

#include <cstdint>

#include "kernels/simt/simt.h"

// Number formats inside kernels. bf16 is kept as bits, two to a register.
namespace rm::device {

union FloatBits {
    float value;
    std::uint32_t bits;
};

SIMT_FN float from_bf16(std::uint16_t x) {
    FloatBits f;
    f.bits = static_cast<std::uint32_t>(x) << 16;
    return f.value;
}

// To nearest, ties to even; NaN stays NaN.
SIMT_FN std::uint16_t to_bf16(float x) {
    FloatBits f;
    f.value = x;
    if (x != x) return static_cast<std::uint16_t>(f.bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((f.bits + 0x7fff + (f.bits >> 16 & 1)) >> 16);
}

SIMT_FN std::uint32_t pack_bf16(float low, float high) {
    return to_bf16(low) | static_cast<std::uint32_t>(to_bf16(high)) << 16;
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

}  // namespace rm::device
