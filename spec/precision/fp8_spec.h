#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/words.h"
#include "spec/model_preset.h"

// `precision: fp8`: linear layers on operands rounded to FP8, everything else in bf16
// (docs/numerics.md).
namespace rm {

// How scales are found, by the names that the field uses. tensorwise: one for each tensor that a
// product takes, of its own largest number (current scaling). delayed: one for each place where a
// layer rounds activations or gradients, of the largest numbers there in the last 16 steps.
// blockwise: one for each 1 x 128 numbers of activations and gradients and 128 x 128 of weights
// (DeepSeek-V3 Technical Report, 2024).
enum class Fp8Recipe { tensorwise, delayed, blockwise };
constexpr auto vocabulary_of(Fp8Recipe) {
    return vocabulary<Fp8Recipe>("recipe", {{Fp8Recipe::tensorwise, "tensorwise"},
                                            {Fp8Recipe::delayed, "delayed"},
                                            {Fp8Recipe::blockwise, "blockwise"}});
}

// The format of gradients; weights and activations are e4m3.
enum class Fp8Gradients { e5m2, e4m3 };
constexpr auto vocabulary_of(Fp8Gradients) {
    return vocabulary<Fp8Gradients>("gradients",
                                    {{Fp8Gradients::e5m2, "e5m2"}, {Fp8Gradients::e4m3, "e4m3"}});
}

struct Fp8Spec {
    Fp8Recipe recipe = Fp8Recipe::tensorwise;
    Fp8Gradients gradients = Fp8Gradients::e5m2;
    int bf16_layers = 1;  // at each end of the model; 0: all layers are in FP8
    // A layer with a tensor beyond a limit computes in bf16 for so many steps; 0: the run ends.
    std::int64_t fallback_steps = 100;
    // Shares of a tensor's numbers that are finite and not 0, in one step on all ranks; 1: no
    // limit.
    double max_saturated = 0.01;  // too large for their scale
    double max_flushed = 0.9;     // become 0
    bool operator==(const Fp8Spec&) const = default;
};

// Whether the numbers are ones that a job may have.
Status check_fp8_spec(const Fp8Spec& fp8);

// Whether a model has a layer in FP8, and linears whose sizes FP8 products take, multiples of 16,
// on each of `tensor` ranks. `name`: the model's.
Status check_fp8_model(const Fp8Spec& fp8, const ModelConfig& model, std::string_view name,
                       int tensor);

}  // namespace rm
