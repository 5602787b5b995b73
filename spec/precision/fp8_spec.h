#pragma once

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
enum class Fp8Recipe { tensorwise, delayed };
constexpr auto vocabulary_of(Fp8Recipe) {
    return vocabulary<Fp8Recipe>(
        "recipe", {{Fp8Recipe::tensorwise, "tensorwise"}, {Fp8Recipe::delayed, "delayed"}});
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
    bool operator==(const Fp8Spec&) const = default;
};

// Whether a model has a layer in FP8, and linears whose sizes FP8 products take, multiples of 16,
// on each of `tensor` ranks. `name`: the model's.
Status check_fp8_model(const Fp8Spec& fp8, const ModelConfig& model, std::string_view name,
                       int tensor);

}  // namespace rm
