#include "bench/kernels/attention8_exact.h"

#include <algorithm>
#include <limits>
#include <span>

#include "kernels/attention_8bit.h"

namespace rm::bench {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double dot(const float* a, const float* b, std::int64_t size) {
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i)
        sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

// The state of one query.
struct Row {
    double m = -kInf, l = 0;
    std::vector<double> acc;

    template <typename Round>
    void merge(const std::vector<double>& scores, const float* v, std::int64_t D,
               const Round& round) {
        const double max = std::max(m, *std::max_element(scores.begin(), scores.end()));
        const double keep = std::exp(m - max);
        for (double& sum : acc)
            sum *= keep;
        l *= keep;
        for (std::size_t s = 0; s < scores.size(); ++s) {
            const double p = std::exp(scores[s] - max), rounded = round(p);
            for (std::int64_t d = 0; d < D; ++d)
                acc[usize(d)] += rounded * v[static_cast<std::int64_t>(s) * D + d];
            l += p;
        }
        m = max;
    }
    void finish(AttentionResult& result) const {
        for (const double sum : acc)
            result.out.push_back(sum / l);
        result.lse.push_back(m + std::log(l));
    }
};

float round_queries_or_keys(std::span<float> numbers, Int8Scale scale) {
    if (scale == Int8Scale::largest_over_127) return round_to_int8(numbers);
    // The least power of two for which the largest number stays in range.
    int exponent = 0;
    std::frexp(largest_size(numbers) / 127, &exponent);
    const float unit = std::ldexp(1.0f, exponent);
    for (float& number : numbers)
        number = std::nearbyint(number / unit);
    return unit;
}

std::vector<float> take_mean(std::span<float> k, std::int64_t D) {
    std::vector<float> mean(usize(D));
    for (std::size_t i = 0; i < k.size(); ++i)
        mean[i % usize(D)] += k[i] * static_cast<float>(D) / static_cast<float>(k.size());
    for (float& number : mean)
        number = from_bf16(to_bf16(number));
    for (std::size_t i = 0; i < k.size(); ++i)
        k[i] -= mean[i % usize(D)];
    return mean;
}

// Keys and values as the roundings leave them, and the centre of each block.
struct Rounded {
    std::vector<float> k, k_scales, centres, v;

    Rounded(const AttentionInput& input, const Roundings& roundings) : k(input.k), v(input.v) {
        const std::int64_t D = input.D, S = input.num_keys();
        for (std::int64_t s = 0; s < S; s += kAttentionBlock) {
            const std::size_t first = usize(s * D);
            const std::size_t size = usize(std::min(kAttentionBlock, S - s) * D);
            add_block(std::span(k).subspan(first, size), D, roundings);
            const std::span values = std::span(v).subspan(first, size);
            const float scale = round_to_e4m3(values);
            for (float& value : values)
                value *= scale;
        }
    }

    void add_block(std::span<float> block, std::int64_t D, const Roundings& roundings) {
        const std::vector<float> centre =
            roundings.centre == Centre::none   ? std::vector<float>(usize(D))
            : roundings.centre == Centre::mean ? take_mean(block, D)
                                               : take_centre(block, D);
        centres.insert(centres.end(), centre.begin(), centre.end());
        const std::size_t keys = block.size() / usize(D);
        if (roundings.keys == KeyScale::of_a_block) {
            k_scales.insert(k_scales.end(), keys, round_queries_or_keys(block, roundings.int8));
            return;
        }
        for (std::size_t key = 0; key < keys; ++key) {
            k_scales.push_back(
                round_queries_or_keys(block.subspan(key * usize(D), usize(D)), roundings.int8));
        }
    }
};

}  // namespace

AttentionResult exact_attention(const AttentionInput& input) {
    const std::int64_t D = input.D, T = input.num_queries(), S = input.num_keys();
    AttentionResult result;
    for (std::int64_t t = 0; t < T; ++t) {
        std::vector<double> scores;
        for (std::int64_t s = 0; s <= S - T + t; ++s)
            scores.push_back(input.scale() *
                             dot(input.q.data() + t * D, input.k.data() + s * D, D));
        Row row{.acc = std::vector<double>(usize(D))};
        row.merge(scores, input.v.data(), D, [](double p) { return p; });
        row.finish(result);
    }
    return result;
}

AttentionResult rounded_attention(const AttentionInput& input, const Roundings& roundings) {
    const std::int64_t D = input.D, T = input.num_queries(), S = input.num_keys();
    const Rounded keys(input, roundings);
    AttentionResult result;
    for (std::int64_t t = 0; t < T; ++t) {
        const float* q = input.q.data() + t * D;
        std::vector<float> codes(q, q + D);
        const double q_scale = round_queries_or_keys(codes, roundings.int8);
        Row row{.acc = std::vector<double>(usize(D))};
        for (std::int64_t first = 0; first <= S - T + t; first += kAttentionBlock) {
            const double centre = dot(q, keys.centres.data() + first / kAttentionBlock * D, D);
            std::vector<double> scores;
            for (std::int64_t s = first; s < std::min(first + kAttentionBlock, S - T + t + 1);
                 ++s) {
                const double product = dot(codes.data(), keys.k.data() + s * D, D);
                scores.push_back(input.scale() *
                                 (product * q_scale * keys.k_scales[usize(s)] + centre));
            }
            row.merge(scores, keys.v.data() + first * D, D, round_probability);
        }
        row.finish(result);
    }
    return result;
}

}  // namespace rm::bench
