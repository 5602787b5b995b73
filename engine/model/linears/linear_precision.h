#pragma once

#include <cstdint>

#include "kernels/fp8.h"
#include "kernels/ops/operands.h"

namespace rm {

// How the scales of activations and gradients are found: of the tensor at hand, of the steps
// before, or of each block of the tensor at hand. Weights are always scaled by the numbers at hand.
enum class Fp8LinearScaling { current, delayed, blocks };

// Shares of a tensor's numbers beyond which FP8 does not hold it. Its layer then computes in the
// compute type for so many steps; 0: the run ends.
struct Fp8Limits {
    double saturated = 1;  // too large for their scale
    double flushed = 1;    // became 0
    std::int64_t fallback_steps = 0;
};

// Which layers' linears compute in FP8, and in what format they round gradients; weights and
// activations are e4m3. All of a rank's stages have the same.
struct LinearPrecision {
    bool fp8 = false;
    Fp8 gradients = Fp8::e5m2;
    std::int64_t bf16_layers = 1;  // of FP8: at each end of the model, in the compute type
    Fp8LinearScaling scaling = Fp8LinearScaling::current;
    Fp8Limits limits;
    bool has_history = false;  // of delayed scaling: as after the first step; of dry runs

    WeightForm fp8_form() const {
        return scaling == Fp8LinearScaling::blocks ? WeightForm::fp8_blocks : WeightForm::fp8;
    }
    WeightForm form_of(std::int64_t layer, std::int64_t num_layers) const {
        const bool inner = layer >= bf16_layers && layer < num_layers - bf16_layers;
        return fp8 && inner ? fp8_form() : WeightForm::compute;
    }
};

}  // namespace rm
