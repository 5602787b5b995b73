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

}  // namespace rm::device
