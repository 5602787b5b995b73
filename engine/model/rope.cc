#include "engine/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rm {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

// theta^(-2i/D)
std::vector<double> plain_frequencies(double theta, std::int64_t head_dim) {
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
        frequencies.push_back(std::pow(theta, exponent));
    }
    return frequencies;
}

// The base grows with the sequence beyond the pretrained length, so that its longest wave still
// fits.
std::vector<double> dynamic_frequencies(const RopeConfig& rope, std::int64_t head_dim,
                                        std::int64_t context) {
    const auto D = static_cast<double>(head_dim);
    const auto original = static_cast<double>(rope.original_context);
    const double length = std::max(static_cast<double>(context), original);
    const double growth = rope.factor * length / original - (rope.factor - 1);
    return plain_frequencies(rope.theta * std::pow(growth, D / (D - 2)), head_dim);
}

// The (fractional) pair that turns `turns` times over the pretrained length.
double pair_with_turns(const RopeConfig& rope, std::int64_t head_dim, double turns) {
    const auto original = static_cast<double>(rope.original_context);
    return static_cast<double>(head_dim) * std::log(original / (turns * kTwoPi)) /
           (2 * std::log(rope.theta));
}

// Fast pairs keep their frequency, slow ones are interpolated, with a linear ramp between.
std::vector<double> yarn_frequencies(const RopeConfig& rope, std::int64_t head_dim) {
    double low = pair_with_turns(rope, head_dim, rope.beta_fast);
    double high = pair_with_turns(rope, head_dim, rope.beta_slow);
    if (rope.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, static_cast<double>(head_dim - 1));
    if (low == high) high += 0.001;
    std::vector<double> frequencies = plain_frequencies(rope.theta, head_dim);
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        frequencies[i] *= ramp / rope.factor + (1 - ramp);
    }
    return frequencies;
}

double yarn_scale(double factor, double mscale) {
    return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

double yarn_attention_factor(const RopeConfig& rope) {
    if (rope.attention_factor) return *rope.attention_factor;
    if (rope.mscale == 0) return yarn_scale(rope.factor, 1);
    return yarn_scale(rope.factor, rope.mscale) / yarn_scale(rope.factor, rope.mscale_all_dim);
}

// One set of divisors up to the pretrained length, another beyond it.
std::vector<double> longrope_frequencies(const RopeConfig& rope, std::int64_t head_dim,
                                         std::int64_t context) {
    const auto& factors = context > rope.original_context ? rope.long_factor : rope.short_factor;
    std::vector<double> frequencies = plain_frequencies(rope.theta, head_dim);
    for (std::size_t i = 0; i < frequencies.size(); ++i)
        frequencies[i] /= factors[i];
    return frequencies;
}

double longrope_attention_factor(const RopeConfig& rope) {
    if (rope.attention_factor) return *rope.attention_factor;
    if (rope.factor <= 1) return 1;
    const auto original = static_cast<double>(rope.original_context);
    return std::sqrt(1 + std::log(rope.factor) / std::log(original));
}

// Long waves are stretched by `factor`, short ones kept, those between blended by their number of
// turns over the pretrained length.
double llama3_frequency(const RopeConfig& rope, double frequency) {
    const double turns = static_cast<double>(rope.original_context) * frequency / kTwoPi;
    if (turns < rope.low_freq_factor) return frequency / rope.factor;
    if (turns > rope.high_freq_factor) return frequency;
    const double kept =
        (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
    return (1 - kept) * frequency / rope.factor + kept * frequency;
}

}  // namespace

RopeFrequencies rope_frequencies(const RopeConfig& rope, std::int64_t head_dim,
                                 std::int64_t context) {
    RopeFrequencies result{plain_frequencies(rope.theta, head_dim)};
    switch (rope.type) {
        case RopeType::standard:
            break;
        case RopeType::linear:
            for (double& frequency : result.inv_freq)
                frequency /= rope.factor;
            break;
        case RopeType::dynamic:
            result.inv_freq = dynamic_frequencies(rope, head_dim, context);
            break;
        case RopeType::yarn:
            result = {yarn_frequencies(rope, head_dim), yarn_attention_factor(rope)};
            break;
        case RopeType::longrope:
            result = {longrope_frequencies(rope, head_dim, context),
                      longrope_attention_factor(rope)};
            break;
        case RopeType::llama3:
            for (double& frequency : result.inv_freq)
                frequency = llama3_frequency(rope, frequency);
            break;
    }
    return result;
}

}  // namespace rm
