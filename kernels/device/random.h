#pragma once

#include "kernels/device/numbers.h"

namespace rm::device {

// mix64 of base/random.h: splitmix64's finaliser.
SIMT_FN std::uint64_t mix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// To one of the two neighbours in bf16, with the probability that makes the expectation `value`;
// the lower 16 bits of `random` are uniform. Infinities stay what they are.
SIMT_FN std::uint16_t to_bf16_stochastically(float value, std::uint64_t random) {
    FloatBits f;
    f.value = value;
    if ((f.bits & 0x7f800000) == 0x7f800000) return to_bf16(value);
    return static_cast<std::uint16_t>((f.bits + (random & 0xffff)) >> 16);
}

}  // namespace rm::device
