#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/ops/fp8_linear.h"

// The steps of rounding to FP8. One kernel rounds, turns around and measures; it takes what it
// rounds from memory, or computes it (RMSNorm, SwiGLU) instead of reading what another kernel
// wrote.
//
// Current scaling: Fp8Amax..., Fp8Scale, Fp8Cast...: the tensor is read twice. Delayed scaling:
// Fp8Scale from a history of maxima, then Fp8Cast..., which measures for the next step.
// C is a multiple of 16, memory 16-byte aligned.
namespace rm {

// amax = max(amax, max |x|). NaN is not counted.
struct Fp8Amax {
    TensorView x;     // (T, C) bf16, or f32 that is rounded to it
    TensorView amax;  // (1) f32
};
// For y = RMSNorm(x) rounded to bf16, which is not kept.
struct Fp8AmaxRmsNorm {
    TensorView x;       // (T, C) bf16
    TensorView weight;  // (C) f32
    TensorView rstd;    // (T) f32, out
    TensorView amax;    // (1) f32
    double eps = 1e-5;
};
// For h = silu(gate) * up rounded to bf16, which is not kept.
struct Fp8AmaxSwiglu {
    TensorView gate;  // (T, F) bf16
    TensorView up;    // (T, F) bf16
    TensorView amax;  // (1) f32
};

// scale = 1 / fp8_scale of the largest of `amax`.
struct Fp8Scale {
    TensorView amax;  // (N) f32: one, or a history
    Fp8 format = Fp8::e4m3;
    TensorView scale;  // (1) f32
    TensorView other;  // (1) f32, gets the same; or empty
};

// Where a cast goes: codes = fp8(x / scale), to nearest even, saturating. Either matrix may be
// empty; their scales are inputs and equal. amax = max(amax, max |x|), unscaled.
struct Fp8Target {
    Fp8Matrix rows;           // (T, C)
    Fp8Matrix columns;        // (C, padded_tokens(T))
    TensorView amax;          // (1) f32
    TensorView largest = {};  // (1) f32: becomes amax if that is larger; or empty
    TensorView effect = {};   // an Fp8Effect, to which this cast's is added; or empty
};
struct Fp8Cast {
    TensorView x;  // (T, C) bf16, or f32 that is rounded to it
    Fp8Target to;
};
// Codes of e4m3 with the scale of the target: only lays them out.
struct Fp8TurnCodes {
    Fp8Matrix from;  // (T, C)
    Fp8Target to;
};
struct Fp8CastRmsNorm {  // e4m3
    TensorView x;        // (T, C) bf16
    TensorView weight;   // (C) f32
    TensorView rstd;     // (T) f32, of Fp8AmaxRmsNorm
    Fp8Target to;
};
struct Fp8CastSwiglu {  // e4m3
    TensorView gate;    // (T, F) bf16
    TensorView up;      // (T, F) bf16
    Fp8Target to;
};

namespace cuda {

void run(const Fp8Amax& op, const Launch& where);
void run(const Fp8AmaxRmsNorm& op, const Launch& where);
void run(const Fp8AmaxSwiglu& op, const Launch& where);
void run(const Fp8Scale& op, const Launch& where);
void run(const Fp8Cast& op, const Launch& where);
void run(const Fp8TurnCodes& op, const Launch& where);
void run(const Fp8CastRmsNorm& op, const Launch& where);
void run(const Fp8CastSwiglu& op, const Launch& where);

}  // namespace cuda
}  // namespace rm
