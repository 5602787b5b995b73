#include "kernels/cpu/simd/loops.h"

namespace rm {
namespace simd_base {
const simd::Loops& loops();
}
namespace simd_avx2 {
const simd::Loops& loops();
}
namespace simd_avx512 {
const simd::Loops& loops();
}
namespace simd_avx512_bf16 {
const simd::Loops& loops();
}
}  // namespace rm

namespace rm::simd {

namespace {

bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

// Asks for the flags that each copy is compiled with in CMakeLists.txt.
const Loops* find_loops(Width width) {
    switch (width) {
        case Width::avx512_bf16:
            if (!has_avx512() || !__builtin_cpu_supports("avx512bf16")) break;
            return &simd_avx512_bf16::loops();
        case Width::avx512:
            if (!has_avx512()) break;
            return &simd_avx512::loops();
        case Width::avx2:
            if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) break;
            return &simd_avx2::loops();
        case Width::base:
            return &simd_base::loops();
    }
    return nullptr;
}

bool has_fast_pairs() {
    if (!__builtin_cpu_supports("avx512bf16")) return false;
    return !__builtin_cpu_is("intel") || __builtin_cpu_is("cooperlake");
}

}  // namespace rm::simd
