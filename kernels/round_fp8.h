#pragma once

#include <array>
#include <bit>

#include "kernels/fp8.h"

// kernels/fp8.h as loops on the host want it: without branches, so that compilers take several
// numbers at a time.
namespace rm {

// The bits of |x|, which are ordered as sizes are; 0 for a NaN.
inline std::uint32_t size_bits(float x) {
    const std::uint32_t size = std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
    return size > 0x7f800000 ? 0 : size;
}

namespace detail {
// `yes` where size < limit, else `no`. A mask, since g++ makes a branch of a conditional expression
// around a float sum, and then takes one number at a time.
inline std::uint32_t choose_below(std::uint32_t size, std::uint32_t limit, std::uint32_t yes,
                                  std::uint32_t no) {
    const bool below = static_cast<std::int32_t>(size) < static_cast<std::int32_t>(limit);
    const std::uint32_t mask = -static_cast<std::uint32_t>(below);
    return (yes & mask) | (no & ~mask);
}
}  // namespace detail

// to_fp8. Below the smallest normal number, adding 2^23 units of the last place rounds to one.
template <Fp8 format>
std::uint8_t round_fp8(float x) {
    constexpr int kBits = mantissa_bits(format), kDropped = 23 - kBits;
    constexpr std::uint32_t kBias = 127 - exponent_bias(format);
    constexpr std::uint32_t kLargest = format == Fp8::e4m3 ? 0x7e : 0x7b;
    constexpr std::uint32_t kMagic = (kBias + 1 - kBits + 23) << 23;
    const auto bits = std::bit_cast<std::uint32_t>(x), size = bits & 0x7fffffff;
    const std::uint32_t half = (1u << (kDropped - 1)) - 1 + (size >> kDropped & 1);
    const std::uint32_t normal = ((size + half) >> kDropped) - (kBias << kBits);
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + std::bit_cast<float>(kMagic)) -
        kMagic;
    std::uint32_t code = detail::choose_below(size, (kBias + 1) << 23, small, normal);
    code = detail::choose_below(code, kLargest, code, kLargest) | (bits >> 24 & 0x80);
    return static_cast<std::uint8_t>(detail::choose_below(size, 0x7f800001, code, kFp8NaN));
}

namespace detail {
template <Fp8 format>
constexpr std::array<float, 256> make_fp8_numbers() {
    std::array<float, 256> numbers{};
    for (int code = 0; code < 256; ++code)
        numbers[static_cast<std::size_t>(code)] = from_fp8(format, static_cast<std::uint8_t>(code));
    return numbers;
}
}  // namespace detail

// The number of each code.
template <Fp8 format>
inline constexpr std::array<float, 256> kFp8Numbers = detail::make_fp8_numbers<format>();
inline const std::array<float, 256>& numbers_of(Fp8 format) {
    return format == Fp8::e4m3 ? kFp8Numbers<Fp8::e4m3> : kFp8Numbers<Fp8::e5m2>;
}

}  // namespace rm
