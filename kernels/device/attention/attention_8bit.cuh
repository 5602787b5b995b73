#pragma once

#include "kernels/device/attention/attention_tiles.cuh"

// The numbers of attention in 8 bits (kernels/attention_8bit.h says what each is), and how a block
// of keys and values lies in the op's workspace.
namespace rm::device {

constexpr int kBlockKeys = 64;

// number = of_codes * code; code = number * of_numbers, rounded.
struct CodeScale {
    float of_codes;
    float of_numbers;
};
// `bits` are those of the largest size among the numbers. Below 2^-100 they count as zeros; with
// one that is not finite every number becomes NaN.
template <typename Inverse>
SIMT_FN CodeScale code_scale(std::uint32_t bits, const Inverse& scale_of) {
    FloatBits largest;
    largest.bits = bits;
    if (bits >= 0x7f800000u) return {not_a_number(), 0};
    if (largest.value < 0x1p-100f) return {0, 0};
    return scale_of(largest.value);
}
SIMT_FN CodeScale int8_scale(std::uint32_t bits) {
    return code_scale(bits, [](float largest) {
        return CodeScale{largest / 127.0f, 127.0f / largest};
    });
}
SIMT_FN CodeScale e4m3_code_scale(std::uint32_t bits) {
    return code_scale(bits, [](float largest) {
        const float factor = e4m3_scale(largest);
        return CodeScale{1 / factor, factor};
    });
}

// The bits of |x|, which are ordered as sizes are; NaN is the largest.
SIMT_FN int size_bits(float x) {
    FloatBits f;
    f.value = x;
    return static_cast<int>(f.bits & 0x7fffffffu);
}

// To the nearest integer, ties to even, in the lowest byte. One rounding: adding 1.5 x 2^23 leaves
// no bit after the point.
SIMT_FN std::uint32_t int8_code(float number, float factor) {
    FloatBits f;
    f.value = fmaf(number, factor, 12582912.0f);
    return f.bits & 0xff;
}
SIMT_FN std::uint32_t pack_codes(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                 std::uint32_t d) {
    return a | b << 8 | c << 16 | d << 24;
}

// The scales of one head of a block of keys, and the centre that was taken from its keys.
template <int kHead>
struct alignas(16) BlockScales {
    std::uint16_t centre[kHead];  // bf16
    float k;                      // of codes, as v
    float v;
    float unused[2];
};
// One head of 64 keys and values. Keys past the last and columns past D are zeros.
template <int kHead>
struct alignas(16) KeyBlock {
    std::uint32_t k[kBlockKeys * kHead / 4];  // (64, kHead) int8
    std::uint32_t v[kHead * kBlockKeys / 4];  // (kHead, 64) e4m3
    BlockScales<kHead> scales;
};

// Scores come out of a product with columns 2t and 2t + 1 of every 8 in lane t, and go into the
// next one with four columns side by side. Sums do not care which key is which column, so word w of
// a row of v has the keys of those two pairs: first_key(w), the next one, and both plus 8.
SIMT_FN int first_key(int word) {
    return word / 4 * 16 + word % 4 * 2;
}

}  // namespace rm::device
