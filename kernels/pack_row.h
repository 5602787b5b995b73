#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/fp8.h"

// A row of PackRows and UnpackRows on the host (kernels/ops/pack.h).
namespace rm {

namespace detail {

// to_fp8 of e4m3 without branches, so that compilers take several numbers at a time. Below the
// smallest normal number, 2^-6, adding 2^14 rounds to whole units of 2^-9.
inline std::uint8_t round_e4m3(float x) {
    constexpr float kMagic = 0x1p14f;
    const auto bits = std::bit_cast<std::uint32_t>(x), size = bits & 0x7fffffff;
    const std::uint32_t normal = ((size + 0x7ffff + (size >> 20 & 1)) >> 20) - (120u << 3);
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + kMagic) -
                                std::bit_cast<std::uint32_t>(kMagic);
    std::uint32_t code = size < (121u << 23) ? small : normal;
    code = code < 0x7e ? code : 0x7e;
    code |= bits >> 24 & 0x80;
    return static_cast<std::uint8_t>(size > 0x7f800000 ? std::uint32_t{kFp8NaN} : code);
}

constexpr std::array<float, 256> make_e4m3_numbers() {
    std::array<float, 256> numbers{};
    for (int code = 0; code < 256; ++code)
        numbers[static_cast<std::size_t>(code)] =
            from_fp8(Fp8::e4m3, static_cast<std::uint8_t>(code));
    return numbers;
}
inline constexpr std::array<float, 256> kE4m3Numbers = make_e4m3_numbers();

}  // namespace detail

// get(c): element c as a float.
template <typename Get>
void pack_row(std::int64_t C, const Get& get, std::int32_t* words) {
    std::uint32_t largest = 0;  // sizes are ordered as their bits are, and NaNs come last
    for (std::int64_t c = 0; c < C; ++c) {
        const std::uint32_t size = std::bit_cast<std::uint32_t>(get(c)) & 0x7fffffff;
        largest = std::max(largest, size > 0x7f800000 ? 0 : size);
    }
    const float scale = fp8_scale(Fp8::e4m3, std::bit_cast<float>(largest)), inverse = 1 / scale;
    const std::int64_t last = (C + 3) / 4;
    words[last - 1] = 0;
    auto* codes = reinterpret_cast<std::uint8_t*>(words);
    for (std::int64_t c = 0; c < C; ++c)
        codes[c] = detail::round_e4m3(scale * get(c));
    std::memcpy(words + last, &inverse, sizeof(inverse));
}

// put(c, number)
template <typename Put>
void unpack_row(std::int64_t C, const std::int32_t* words, const Put& put) {
    float inverse = 0;
    std::memcpy(&inverse, words + (C + 3) / 4, sizeof(inverse));
    const auto* codes = reinterpret_cast<const std::uint8_t*>(words);
    for (std::int64_t c = 0; c < C; ++c)
        put(c, inverse * detail::kE4m3Numbers[codes[c]]);
}

}  // namespace rm
