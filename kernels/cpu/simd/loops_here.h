#pragma once

#include "kernels/cpu/simd/loops.h"

// The functions of this instruction set's table; see Loops for what each does.
namespace rm::RM_SIMD {

extern const std::ptrdiff_t kGemmScratch;
extern const std::ptrdiff_t kOuterScratch;

void transpose(const float* from, std::ptrdiff_t from_stride, std::ptrdiff_t rows,
               std::ptrdiff_t columns, float* to, std::ptrdiff_t to_stride, std::ptrdiff_t padded);
std::ptrdiff_t packed_size(std::ptrdiff_t K, std::ptrdiff_t N);
void pack_columns(const float* b, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride,
                  std::ptrdiff_t K, std::ptrdiff_t first, std::ptrdiff_t last, float* packed);
void gemm_rows(const simd::GemmRows& op);
void outer_product(const simd::OuterProduct& op);

simd::AttentionLoops attention_f32();
simd::AttentionLoops attention_bf16();

float dot(const float* x, const float* y, std::ptrdiff_t size);
double sum_squares(const float* x, std::ptrdiff_t size);
void add(const float* x, float* y, std::ptrdiff_t size);
void scale(const float* x, float factor, float* y, std::ptrdiff_t size);
float rmsnorm_fwd(const float* x, const float* weight, float eps, float* y, std::ptrdiff_t C);
void rmsnorm_bwd(const float* d_y, const float* x, const float* weight, float rstd, float* d_x,
                 float* d_weight, std::ptrdiff_t C);
void rotate(float* x, const float* cos, const float* sin, float sign, std::ptrdiff_t half);
void swiglu_fwd(const float* gate, const float* up, float* h, std::ptrdiff_t size);
void swiglu_bwd(const float* d_h, const float* gate, const float* up, float* d_gate, float* d_up,
                std::ptrdiff_t size);
float exp_row(float* logits, std::ptrdiff_t V, float* max);
void adamw(const simd::AdamWStep& step, float* weight, const float* grad, float* m, float* v,
           std::ptrdiff_t size);

}  // namespace rm::RM_SIMD
