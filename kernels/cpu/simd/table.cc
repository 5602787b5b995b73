#include "kernels/cpu/simd/loops_here.h"

#define RM_STRING(x) #x
#define RM_NAME(x) RM_STRING(x)

namespace rm::RM_SIMD {

const simd::Loops& loops() {
    static const simd::Loops kLoops{
        .name = RM_NAME(RM_SIMD),
        .gemm_scratch = kGemmScratch,
        .outer_scratch = kOuterScratch,
        .transpose = transpose,
        .packed_size = packed_size,
        .pack_columns = pack_columns,
        .gemm_rows = gemm_rows,
        .outer_product = outer_product,
        .attention_f32 = attention_f32(),
        .attention_bf16 = attention_bf16(),
        .dot = dot,
        .sum_squares = sum_squares,
        .add = add,
        .scale = scale,
        .rmsnorm_fwd = rmsnorm_fwd,
        .rmsnorm_bwd = rmsnorm_bwd,
        .rotate = rotate,
        .swiglu_fwd = swiglu_fwd,
        .swiglu_bwd = swiglu_bwd,
        .exp_row = exp_row,
        .adamw = adamw,
    };
    return kLoops;
}

}  // namespace rm::RM_SIMD
