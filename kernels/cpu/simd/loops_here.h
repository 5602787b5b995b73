#pragma once

#include "kernels/cpu/simd/loops.h"

// The functions of this instruction set's table; see Loops for what each does.
namespace rm::RM_SIMD {

simd::ProductLoops products_f32();
simd::ProductLoops products_widened();
simd::ProductLoops products_pairs();

simd::AttentionLoops attention_f32();
simd::AttentionLoops attention_widened();
simd::AttentionLoops attention_pairs();

simd::Fp8Loops<float> fp8_f32();
simd::Fp8Loops<simd::Bf16> fp8_bf16();

simd::RowLoops<float> rows_f32();
simd::RowLoops<simd::Bf16> rows_bf16();

double sum_squares(const float* x, std::ptrdiff_t size);
float exp_row(float* logits, std::ptrdiff_t V, float* max);
void adamw(const simd::AdamWStep& step, float* weight, const float* grad, float* m, float* v,
           std::ptrdiff_t size);

}  // namespace rm::RM_SIMD
