#include "kernels/cpu/simd/with_tiles.h"

namespace rm::simd_base {
const simd::Loops& loops();
}
namespace rm::simd_tile_model {
simd::ProductLoops products_in_tiles();
simd::AttentionLoops attention_in_tiles(const simd::AttentionLoops& bf16);
}  // namespace rm::simd_tile_model

namespace rm::simd {

const Loops* find_loops(Width width) {
    const Loops& base = simd_base::loops();
    static const Loops kTileModel =
        with_tiles(base, "simd_tile_model", simd_tile_model::products_in_tiles(),
                   simd_tile_model::attention_in_tiles(base.attention_widened));
    if (width == Width::tile_model) return &kTileModel;
    return width == Width::base ? &base : nullptr;
}

bool has_fast_pairs() {
    return false;
}

}  // namespace rm::simd
