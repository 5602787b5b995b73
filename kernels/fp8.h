#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

// FP8 on the host, bit for bit what the device kernels give (OCP 8-bit floating point
// specification, 2023): e4m3 has no infinity and one NaN per sign, e5m2 is a small IEEE format.
namespace rm {

enum class Fp8 { e4m3, e5m2 };

constexpr int mantissa_bits(Fp8 format) {
    return format == Fp8::e4m3 ? 3 : 2;
}
constexpr int exponent_bias(Fp8 format) {
    return format == Fp8::e4m3 ? 7 : 15;
}
constexpr float largest(Fp8 format) {
    return format == Fp8::e4m3 ? 448.0f : 57344.0f;
}
constexpr std::uint8_t kFp8NaN = 0x7f;  // what a NaN is rounded to, in both formats

namespace detail {
constexpr double power_of_two(int exponent) {  // of normal doubles
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}
}  // namespace detail

constexpr float from_fp8(Fp8 format, std::uint8_t code) {
    const int bits = mantissa_bits(format), exponent = (code & 0x7f) >> bits;
    const int mantissa = code & ((1 << bits) - 1);
    if (format == Fp8::e4m3 && (code & 0x7f) == 0x7f)
        return std::numeric_limits<float>::quiet_NaN();
    double size = 0;
    if (format == Fp8::e5m2 && exponent == 31) {
        if (mantissa != 0) return std::numeric_limits<float>::quiet_NaN();
        size = std::numeric_limits<double>::infinity();
    } else {
        const int units = exponent == 0 ? mantissa : mantissa + (1 << bits);
        size = units * detail::power_of_two(std::max(exponent, 1) - exponent_bias(format) - bits);
    }
    return static_cast<float>(code < 0x80 ? size : -size);
}

// To nearest, ties to even, saturating: what is larger than the largest number becomes it,
// infinities too. NaN becomes kFp8NaN.
constexpr std::uint8_t to_fp8(Fp8 format, float value) {
    if (value != value) return kFp8NaN;
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const double size = std::min(std::bit_cast<float>(bits & 0x7fffffff), largest(format));
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(size) >> 52) - 1023;
    const int lowest = 1 - exponent_bias(format), scale = std::max(exponent, lowest);
    // In units of the last place; adding and taking away 2^52 rounds to a whole number of them.
    const double units = size * detail::power_of_two(mantissa_bits(format) - scale);
    const double whole = (units + 0x1p52) - 0x1p52;
    const int code = ((scale - lowest) << mantissa_bits(format)) + static_cast<int>(whole);
    return static_cast<std::uint8_t>(code | (bits >> 24 & 0x80));
}

// The factor of a tensor before it is rounded: the largest power of two that keeps `amax`,
// the largest size among its elements, in range. A power of two, so that scaling and unscaling lose
// nothing; 1 where amax is zero or not finite.
constexpr float fp8_scale(Fp8 format, float amax) {
    if (!(amax > 0) || amax > std::numeric_limits<float>::max()) return 1;
    const float ratio = std::min(largest(format) / amax, 0x1p126f);  // whose inverse is normal
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(ratio) & 0x7f800000u);
}

}  // namespace rm
