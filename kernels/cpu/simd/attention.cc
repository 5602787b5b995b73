#include "kernels/cpu/simd/attention_loops.h"
#include "kernels/cpu/simd/loops_here.h"

namespace rm::RM_SIMD {

simd::AttentionLoops attention_f32() {
    return attention_loops<Float, float>();
}

simd::AttentionLoops attention_widened() {
    return attention_loops<Float, Bf16>();
}
simd::AttentionLoops attention_pairs() {
#if defined(__AVX512BF16__)
    return attention_loops<Pair, Bf16>();
#else
    return {};
#endif
}

}  // namespace rm::RM_SIMD
