#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/layout.h"

// Attention of one head in fp64: as it is, and with roundings to 8 bits.
namespace rm::bench {

// The last queries of one document; numbers of bf16.
struct AttentionInput {
    std::int64_t D = 0;
    std::vector<float> q, k, v;  // (T, D), (S, D)
    std::vector<float> d_out;    // (T, D)

    std::int64_t num_queries() const { return static_cast<std::int64_t>(q.size()) / D; }
    std::int64_t num_keys() const { return static_cast<std::int64_t>(k.size()) / D; }
    double scale() const { return 1 / std::sqrt(static_cast<double>(D)); }
};
struct AttentionResult {
    std::vector<double> out;  // (T, D)
    std::vector<double> lse;  // (T)
};

AttentionResult exact_attention(const AttentionInput& input);

// Those of kernels/attention_8bit.h, but for what is named here.
enum class Centre { midrange, mean, none };
enum class Int8Scale { largest_over_127, power_of_two };
enum class KeyScale { of_a_block, of_a_key };
struct Roundings {
    Centre centre = Centre::midrange;
    Int8Scale int8 = Int8Scale::largest_over_127;
    KeyScale keys = KeyScale::of_a_block;
};
AttentionResult rounded_attention(const AttentionInput& input, const Roundings& roundings);

}  // namespace rm::bench
