#pragma once

#include <cstdint>
#include <vector>

#include "spec/model_preset.h"

namespace rm {

// The input that RopeTable turns into cos and sin.
struct RopeFrequencies {
    std::vector<double> inv_freq;  // D / 2, radians per position
    double attention_factor = 1;   // multiplies cos and sin
};

// Rotary frequencies of a model at a context of `context` tokens, as Hugging Face transformers
// computes them (modeling_rope_utils.py, 4.45 to 5), but in fp64. RoPE: Su et al., 2021; linear:
// Chen et al., 2023; dynamic: NTK-aware scaling by the sequence's length; YaRN: Peng et al., 2023;
// LongRoPE: Ding et al., 2024; llama3: the wavelength rule of Llama 3.1. `rope` is valid.
RopeFrequencies rope_frequencies(const RopeConfig& rope, std::int64_t head_dim,
                                 std::int64_t context);

}  // namespace rm
