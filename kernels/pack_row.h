#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/round_fp8.h"

// A row of PackRows and UnpackRows on the host (kernels/ops/pack.h).
namespace rm {

// get(c): element c as a float.
template <typename Get>
void pack_row(std::int64_t C, const Get& get, std::int32_t* words) {
    std::uint32_t largest = 0;
    for (std::int64_t c = 0; c < C; ++c)
        largest = std::max(largest, size_bits(get(c)));
    const float scale = fp8_scale(Fp8::e4m3, std::bit_cast<float>(largest)), inverse = 1 / scale;
    const std::int64_t last = (C + 3) / 4;
    words[last - 1] = 0;
    auto* codes = reinterpret_cast<std::uint8_t*>(words);
    for (std::int64_t c = 0; c < C; ++c)
        codes[c] = round_fp8<Fp8::e4m3>(scale * get(c));
    std::memcpy(words + last, &inverse, sizeof(inverse));
}

// put(c, number)
template <typename Put>
void unpack_row(std::int64_t C, const std::int32_t* words, const Put& put) {
    float inverse = 0;
    std::memcpy(&inverse, words + (C + 3) / 4, sizeof(inverse));
    const auto* codes = reinterpret_cast<const std::uint8_t*>(words);
    for (std::int64_t c = 0; c < C; ++c)
        put(c, inverse * kFp8Numbers<Fp8::e4m3>[codes[c]]);
}

}  // namespace rm
