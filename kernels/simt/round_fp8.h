#pragma once

#include <cstdint>

// From float to FP8 in software, where the machine has no instruction for it: the emulator, and
// GPUs before sm_89. To nearest, ties to even, saturating: the bits of cvt.rn.satfinite (OCP 8-bit
// floating point specification, 2023). NaN becomes 0x7f.
namespace rm::simt {

union FloatBits {
    float value;
    std::uint32_t bits;
};

// kMantissa bits of mantissa, an exponent bias of kBias, and kLargest the largest finite code.
template <int kMantissa, int kBias, std::uint32_t kLargest>
SIMT_FN std::uint32_t round_fp8(float x) {
    FloatBits f;
    f.value = x;
    const std::uint32_t sign = f.bits >> 24 & 0x80;
    f.bits &= 0x7fffffff;
    if (f.bits > 0x7f800000) return 0x7f;
    constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
    if (f.bits < kSmallestNormal) {
        // Adding 2^23 units of the last place rounds to one of them.
        FloatBits magic;
        magic.bits = static_cast<std::uint32_t>(128 - kBias - kMantissa + 23) << 23;
        f.value += magic.value;
        return sign | (f.bits - magic.bits);
    }
    constexpr int kDropped = 23 - kMantissa;
    f.bits += (1u << (kDropped - 1)) - 1 + (f.bits >> kDropped & 1);
    const std::uint32_t code =
        (f.bits >> kDropped) - (static_cast<std::uint32_t>(127 - kBias) << kMantissa);
    return sign | (code < kLargest ? code : kLargest);
}

SIMT_FN std::uint32_t round_e4m3(float x) {
    return round_fp8<3, 7, 0x7e>(x);
}
SIMT_FN std::uint32_t round_e5m2(float x) {
    return round_fp8<2, 15, 0x7b>(x);
}

}  // namespace rm::simt
