#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "base/result.h"

namespace rm {

struct SamplingSpec {
    double temperature = 0;  // 0: greedy
    double top_p = 1;        // of the probability, from the likeliest token on; above 0, up to 1
    std::uint64_t seed = 1;
};
// The token with the largest logit, the first of equals.
std::int32_t likeliest(std::span<const double> logits);

// Chooses tokens from logits: the likeliest (the first of equals), or one drawn with probability
// softmax(logits / temperature) among the fewest likeliest tokens that together have at least top_p
// (nucleus sampling, Holtzman et al. 2020). The same seed and logits give the same tokens.
class TokenSampler {
public:
    explicit TokenSampler(const SamplingSpec& spec) : spec_(spec), random_(spec.seed) {}
    std::int32_t choose(std::span<const double> logits);

private:
    SamplingSpec spec_;
    std::mt19937_64 random_;
};

}  // namespace rm
