#pragma once

#include <cstdint>

#include "kernels/fp8.h"
#include "kernels/ops/operands.h"

namespace rm {

// How the scales of activations and gradients are found: of the tensor at hand, or of the steps
// before. Weights are always scaled by the numbers at hand.
enum class Fp8LinearScaling { current, delayed };

// Which layers' linears compute in FP8, and in what format they round gradients; weights and
// activations are e4m3. All of a rank's stages have the same.
struct LinearPrecision {
    bool fp8 = false;
    Fp8 gradients = Fp8::e5m2;
    std::int64_t bf16_layers = 1;  // of FP8: at each end of the model, in the compute type
    Fp8LinearScaling scaling = Fp8LinearScaling::current;
    bool has_history = false;  // of delayed scaling: as after the first step; of dry runs

    WeightForm form_of(std::int64_t layer, std::int64_t num_layers) const {
        const bool inner = layer >= bf16_layers && layer < num_layers - bf16_layers;
        return fp8 && inner ? WeightForm::fp8 : WeightForm::compute;
    }
};

}  // namespace rm
