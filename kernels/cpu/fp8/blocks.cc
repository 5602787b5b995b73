#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/fp8/loops.h"

// FP8 with scales of blocks. A worker takes a tile of 128 x 128, whose rows and columns are blocks:
// it is read from memory once.
namespace rm::cpu {
namespace {

// A tile of a tensor (T, C).
struct Tile {
    std::int64_t t = 0, rows = 0, c = 0, columns = 0;
};

// fn(tile, worker) for each tile of x (T, C).
template <typename Fn>
void for_tiles(const TensorView& x, Context& context, const Fn& fn) {
    const std::int64_t T = x.dim(0), C = x.dim(1), across = fp8_blocks(C);
    context.workers.for_items(fp8_blocks(T) * across, [&](std::int64_t item, int worker) {
        const std::int64_t t = item / across * kFp8Block, c = item % across * kFp8Block;
        fn(Tile{t, std::min(kFp8Block, T - t), c, std::min(kFp8Block, C - c)}, worker);
    });
}

// The largest sizes of a tile's rows and columns.
struct TileSizes {
    std::array<float, kFp8Block> rows, columns;

    template <typename E>
    TileSizes(const simd::Fp8Loops<E>& loops, const E* x, std::int64_t stride, const Tile& tile) {
        columns.fill(0);
        for (std::int64_t r = 0; r < tile.rows; ++r) {
            rows[usize(r)] = loops.largest(x + r * stride, tile.columns);
            loops.larger(x + r * stride, columns.data(), tile.columns);
        }
    }
    float largest(const Tile& tile) const {
        return *std::max_element(rows.begin(), rows.begin() + tile.rows);
    }
};

using TileCodes = std::array<std::uint8_t, kFp8Block * kFp8Block>;

template <typename E>
struct BlockCast {
    BlockCast(const Quantize& op, const simd::RowLoops<E>& loops, int workers)
        : op(op), loops(loops_for(op.format(), loops)), effects(op, workers) {}

    void tile(const Tile& tile, const TileSizes& sizes, int worker) {
        const std::int64_t C = op.x.dim(1);
        const E* x = op.x.as<E>() + tile.t * C + tile.c;
        if (!op.rows.empty()) write_rows(x, tile, sizes, worker);
        if (!op.columns.empty()) write_columns(x, tile, sizes);
    }

    void write_rows(const E* x, const Tile& tile, const TileSizes& sizes, int worker) {
        const std::int64_t C = op.x.dim(1), across = op.rows.scale.dim(1);
        auto* codes = op.rows.codes.as<std::uint8_t>() + tile.t * C + tile.c;
        auto* scales = op.rows.scale.as<float>() + tile.t * across + tile.c / kFp8Block;
        for (std::int64_t r = 0; r < tile.rows; ++r) {
            const float factor = fp8_scale(op.format(), sizes.rows[usize(r)]);
            scales[r * across] = 1 / factor;
            loops.round(x + r * C, factor, codes + r * C, tile.columns);
            effects.add(loops, x + r * C, codes + r * C, factor, tile.columns, worker);
        }
    }

    // Zeros behind the last token, as far as `columns` goes.
    void write_columns(const E* x, const Tile& tile, const TileSizes& sizes) const {
        const std::int64_t C = op.x.dim(1), P = op.columns.codes.dim(1);
        const std::int64_t across = op.columns.scale.dim(1);
        std::array<float, kFp8Block> factors;
        for (std::int64_t c = 0; c < tile.columns; ++c) {
            factors[usize(c)] = fp8_scale(op.format(), sizes.columns[usize(c)]);
            op.columns.scale.as<float>()[(tile.c + c) * across + tile.t / kFp8Block] =
                1 / factors[usize(c)];
        }
        TileCodes codes;
        for (std::int64_t r = 0; r < tile.rows; ++r)
            loops.round_each(x + r * C, factors.data(), &codes[usize(r * kFp8Block)], tile.columns);
        const std::int64_t padded = padded_tokens(tile.rows);
        std::fill(codes.begin() + tile.rows * kFp8Block, codes.begin() + padded * kFp8Block,
                  std::uint8_t{0});
        turn_codes(codes.data(), kFp8Block,
                   op.columns.codes.as<std::uint8_t>() + tile.c * P + tile.t, P, padded,
                   tile.columns);
    }

    const Quantize& op;
    const simd::Fp8FormatLoops<E>& loops;
    WorkersEffects effects;
};

}  // namespace

void quantize_blocks(const Quantize& op, Context& context) {
    std::vector<float> largest(usize(context.workers.count()));
    const std::int64_t C = op.x.dim(1);
    with_rows("quantize", op.x, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        BlockCast<E> cast(op, loops, context.workers.count());
        for_tiles(op.x, context, [&](const Tile& tile, int worker) {
            const TileSizes sizes(loops.fp8, op.x.as<E>() + tile.t * C + tile.c, C, tile);
            largest[usize(worker)] = std::max(largest[usize(worker)], sizes.largest(tile));
            cast.tile(tile, sizes, worker);
        });
        cast.effects.add_to(op);
    });
    const float amax = *std::max_element(largest.begin(), largest.end());
    *op.amax.as<float>() = amax;
    if (op.merges()) *op.largest.as<float>() = std::max(*op.largest.as<float>(), amax);
}

void round_blocks(const TensorView& weight, Context& context) {
    const std::int64_t K = weight.dim(1);
    with_rows("prepare", weight, context, [&]<typename E>(const simd::RowLoops<E>& loops) {
        for_tiles(weight, context, [&](const Tile& tile, int) {
            E* x = weight.as<E>() + tile.t * K + tile.c;
            const float largest = TileSizes(loops.fp8, x, K, tile).largest(tile);
            const float factor = fp8_scale(Fp8::e4m3, largest);
            for (std::int64_t r = 0; r < tile.rows; ++r) {
                std::array<std::uint8_t, kFp8Block> codes;
                loops.fp8.e4m3.round(x + r * K, factor, codes.data(), tile.columns);
                loops.fp8.e4m3.widen(codes.data(), 1 / factor, x + r * K, tile.columns);
            }
        });
    });
}

void widen_blocks(const Fp8Matrix& matrix, const TensorView& to, Context& context) {
    with_rows("fp8_linear", to, context, [&]<typename E>(const simd::RowLoops<E>& all) {
        const simd::Fp8FormatLoops<E>& loops = loops_for(matrix.format, all);
        const std::int64_t columns = to.dim(1), across = fp8_blocks(columns);
        context.workers.for_items(to.dim(0), [&](std::int64_t row, int) {
            for (std::int64_t block = 0; block < across; ++block) {
                const std::int64_t c = block * kFp8Block, i = row * columns + c;
                loops.widen(matrix.codes.as<std::uint8_t>() + i,
                            matrix.scale.as<float>()[row * across + block], to.as<E>() + i,
                            std::min(kFp8Block, columns - c));
            }
        });
    });
}

void widen_turned_blocks(const Fp8Matrix& matrix, const TensorView& to, Context& context) {
    with_rows("fp8_linear", to, context, [&]<typename E>(const simd::RowLoops<E>& all) {
        const simd::Fp8FormatLoops<E>& loops = loops_for(matrix.format, all);
        const std::int64_t P = to.dim(0), C = to.dim(1);
        for_tiles(to, context, [&](const Tile& tile, int) {
            std::array<float, kFp8Block> scales;
            for (std::int64_t c = 0; c < tile.columns; ++c)
                scales[usize(c)] = matrix.scale_at(tile.c + c, tile.t);
            TileCodes codes;
            turn_codes(matrix.codes.as<std::uint8_t>() + tile.c * P + tile.t, P, codes.data(),
                       kFp8Block, tile.columns, tile.rows);
            for (std::int64_t r = 0; r < tile.rows; ++r) {
                loops.widen_each(&codes[usize(r * kFp8Block)], scales.data(),
                                 to.as<E>() + (tile.t + r) * C + tile.c, tile.columns);
            }
        });
    });
}

}  // namespace rm::cpu
