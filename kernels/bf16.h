#pragma once

#include <bit>
#include <cstdint>

namespace rm {

// bf16: the upper half of an f32, kept as bits. Conversion rounds to nearest, ties to even;
// infinities and NaN stay what they are.
using Bf16 = std::uint16_t;

constexpr float from_bf16(Bf16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

constexpr Bf16 to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    // A NaN whose payload lies in the lower half must not become an infinity.
    if (value != value) return static_cast<Bf16>(bits >> 16 | 0x40);
    return static_cast<Bf16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Rounds to either neighbour, with the probability that makes the expectation `value`; `random`
// is uniform over its 65,536 values. Infinities and NaN stay what they are.
constexpr Bf16 to_bf16_stochastically(float value, std::uint16_t random) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7f800000) == 0x7f800000) return to_bf16(value);
    return static_cast<Bf16>((bits + random) >> 16);
}

}  // namespace rm
