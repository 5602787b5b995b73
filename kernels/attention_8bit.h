#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/usize.h"
#include "kernels/bf16.h"
#include "kernels/round_fp8.h"

// The roundings of attention in 8 bits on the host; device kernels give the same codes and numbers.
//   query       int8 with one scale for a token and head
//   key         what is left after the centre of its block is taken away, int8 with one scale for a
//               block of 64 keys of one head. Queries meet the centre unrounded.
//   value       e4m3 with one scale for such a block, a power of two
//   probability relative to the highest score so far, times 256, e4m3. Row sums have it unrounded.
namespace rm {

constexpr std::int64_t kAttentionBlock = 64;  // keys, counted from the start of their run
constexpr float kProbabilityScale = 256;

// number = of_codes * code; code = number * of_numbers, rounded.
struct NumberScale {
    float of_codes = 0, of_numbers = 0;
};

// The largest size of numbers, with NaN as the largest of all.
inline float largest_size(std::span<const float> numbers) {
    std::uint32_t largest = 0;
    for (const float number : numbers)
        largest = std::max(largest, std::bit_cast<std::uint32_t>(number) & 0x7fffffff);
    return std::bit_cast<float>(largest);
}
// Numbers below 2^-100 count as zeros; with one that is not finite all become NaN.
template <typename ScaleOf>
NumberScale number_scale(float largest, const ScaleOf& scale_of) {
    if (!std::isfinite(largest)) return {std::numeric_limits<float>::quiet_NaN(), 0};
    if (largest < 0x1p-100f) return {};
    return scale_of(largest);
}

// Numbers become their codes, as numbers. Returns the scale of the codes.
inline float round_to_int8(std::span<float> numbers) {
    constexpr float kLargest = 127;
    const NumberScale scale = number_scale(largest_size(numbers), [](float largest) {
        return NumberScale{largest / kLargest, kLargest / largest};
    });
    // Adding 1.5 x 2^23 leaves no bit after the point.
    constexpr float kMagic = 0x1.8p23f;
    for (float& number : numbers)
        number = scale.of_numbers == 0 ? 0 : std::fma(number, scale.of_numbers, kMagic) - kMagic;
    return scale.of_codes;
}
inline float round_to_e4m3(std::span<float> numbers) {
    const NumberScale scale = number_scale(largest_size(numbers), [](float largest) {
        const float factor = fp8_scale(Fp8::e4m3, largest);
        return NumberScale{1 / factor, factor};
    });
    for (float& number : numbers) {
        const float scaled = scale.of_numbers == 0 ? 0 : number * scale.of_numbers;
        number = kFp8Numbers<Fp8::e4m3>[round_fp8<Fp8::e4m3>(scaled)];
    }
    return scale.of_codes;
}
inline double round_probability(double p) {
    const auto scaled = static_cast<float>(p * kProbabilityScale);
    return kFp8Numbers<Fp8::e4m3>[round_fp8<Fp8::e4m3>(scaled)] / double{kProbabilityScale};
}

// Takes the centre away from the rows of k (count, D), one number to a column, and returns it:
// halfway between the smallest and the largest number, in bf16. No order of summation can change
// that, and no other centre leaves a smaller largest difference.
inline std::vector<float> take_centre(std::span<float> k, std::int64_t D) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::vector<float> low(usize(D), kInfinity), high(usize(D), -kInfinity);
    for (std::size_t i = 0; i < k.size(); ++i) {
        const std::size_t d = i % usize(D);
        low[d] = std::min(low[d], k[i]);
        high[d] = std::max(high[d], k[i]);
    }
    for (std::size_t d = 0; d < usize(D); ++d)
        low[d] = from_bf16(to_bf16(0.5f * low[d] + 0.5f * high[d]));
    for (std::size_t i = 0; i < k.size(); ++i)
        k[i] -= low[i % usize(D)];
    return low;
}

// AttentionBwd8 multiplies the numbers that the codes of the forward pass stand for, in bf16. A
// query of one head, and the keys and values (count, D) of one block and head, become those.
inline void to_rounded_query(std::span<float> q) {
    const float scale = round_to_int8(q);
    for (float& number : q)
        number = from_bf16(to_bf16(number * scale));
}
inline void to_rounded_keys(std::span<float> k, std::int64_t D) {
    const std::vector<float> centre = take_centre(k, D);
    const float scale = round_to_int8(k);
    for (std::size_t i = 0; i < k.size(); ++i)
        k[i] = from_bf16(to_bf16(std::fma(k[i], scale, centre[i % usize(D)])));
}
inline void to_rounded_values(std::span<float> v) {
    const float scale = round_to_e4m3(v);
    for (float& number : v)
        number *= scale;  // bf16 holds it
}

}  // namespace rm
