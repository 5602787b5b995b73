#include "kernels/cpu/simd/loops_here.h"

#define RM_STRING(x) #x
#define RM_NAME(x) RM_STRING(x)

namespace rm::RM_SIMD {

const simd::Loops& loops() {
    static const simd::Loops kLoops{
        .name = RM_NAME(RM_SIMD),
        .f32 = products_f32(),
        .widened = products_widened(),
        .pairs = products_pairs(),
        .attention_f32 = attention_f32(),
        .attention_widened = attention_widened(),
        .attention_pairs = attention_pairs(),
        .rows_f32 = rows_f32(),
        .rows_bf16 = rows_bf16(),
        .sum_squares = sum_squares,
        .exp_row = exp_row,
        .adamw = adamw,
    };
    return kLoops;
}

}  // namespace rm::RM_SIMD
