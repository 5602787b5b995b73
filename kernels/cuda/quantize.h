#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/fp8.h"

// FP8 linears. A product of FP8 matrices exists on sm_89 only as TN with one scale per tensor, so
// whatever is multiplied is needed in both orientations: x (T, C) for y = x W^T, its transpose for
// d_W = d_y^T x. One kernel rounds, transposes and measures; it takes what it rounds from memory,
// or computes it (RMSNorm, SwiGLU) instead of reading what another kernel wrote.
//
// Current scaling: Fp8Amax..., Fp8Scale, Fp8Cast...: the tensor is read twice. Delayed scaling:
// Fp8Scale from a history of maxima, then Fp8Cast..., which measures for the next step.
// C is a multiple of 16, memory 16-byte aligned.
namespace rm {

// Codes of one format, row-major; borrows them.
struct Fp8Codes {
    std::uint8_t* codes = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

// amax = max(amax, max |x|). NaN is not counted.
struct Fp8Amax {
    TensorView x;     // (T, C) bf16 or f32
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

// scale = fp8_scale of the largest of `amax`, and its inverse.
struct Fp8Scale {
    TensorView amax;  // (N) f32: one, or a history
    Fp8 format = Fp8::e4m3;
    TensorView scale;  // (2) f32: scale, 1 / scale
};

// Where a cast goes. `transposed` has T rounded up to a multiple of 16 columns, zero past T; either
// may be null, and is then not written. amax = max(amax, max |x|) of what was rounded, unscaled.
struct Fp8Target {
    Fp8Codes codes;       // (T, C)
    Fp8Codes transposed;  // (C, T rounded up)
    TensorView amax;      // (1) f32
};
// codes = fp8(x * scale), to nearest even, saturating.
struct Fp8Cast {
    TensorView x;      // (T, C) bf16 or f32
    TensorView scale;  // (2) f32, of Fp8Scale
    Fp8 format = Fp8::e4m3;
    Fp8Target to;
};
struct Fp8CastRmsNorm {  // e4m3
    TensorView x;        // (T, C) bf16
    TensorView weight;   // (C) f32
    TensorView rstd;     // (T) f32, of Fp8AmaxRmsNorm
    TensorView scale;    // (2) f32
    Fp8Target to;
};
struct Fp8CastSwiglu {  // e4m3
    TensorView gate;    // (T, F) bf16
    TensorView up;      // (T, F) bf16
    TensorView scale;   // (2) f32
    Fp8Target to;
};

namespace cuda {

void run(const Fp8Amax& op, const Launch& where);
void run(const Fp8AmaxRmsNorm& op, const Launch& where);
void run(const Fp8AmaxSwiglu& op, const Launch& where);
void run(const Fp8Scale& op, const Launch& where);
void run(const Fp8Cast& op, const Launch& where);
void run(const Fp8CastRmsNorm& op, const Launch& where);
void run(const Fp8CastSwiglu& op, const Launch& where);

}  // namespace cuda
}  // namespace rm
