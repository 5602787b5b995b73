#include "kernels/cpu/simd/loops.h"

namespace rm::simd_base {
const simd::Loops& loops();
}

namespace rm::simd {

const Loops* find_loops(Width width) {
    return width == Width::base ? &simd_base::loops() : nullptr;
}

bool has_fast_pairs() {
    return false;
}

}  // namespace rm::simd
