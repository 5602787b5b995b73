#pragma once

#include "kernels/cpu/simd/loops.h"

namespace rm::simd {

// The loops of one width, with products and attention of bf16 in tiles of a matrix unit.
inline Loops with_tiles(const Loops& loops, const char* name, const ProductLoops& products,
                        const AttentionLoops& attention) {
    Loops tiles = loops;
    tiles.name = name;
    tiles.pairs = products;
    tiles.attention_pairs = attention;
    return tiles;
}

}  // namespace rm::simd
