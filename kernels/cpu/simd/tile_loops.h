#pragma once

#include "kernels/cpu/simd/loops.h"

// Products and attention of bf16 in tiles of a matrix unit: see TileUnit.
namespace rm::RM_SIMD {

simd::ProductLoops products_in_tiles();
// `bf16` gives what has no products.
simd::AttentionLoops attention_in_tiles(const simd::AttentionLoops& bf16);

}  // namespace rm::RM_SIMD
