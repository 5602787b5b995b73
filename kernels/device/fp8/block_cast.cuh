#pragma once

#include "kernels/device/fp8/effect.cuh"
#include "kernels/device/numbers.h"
#include "kernels/device/quantize_source.cuh"
#include "kernels/device/reduce.h"

// Rounding to FP8 with a scale for each block, in both orientations at once (kernels/ops/
// fp8_linear.h). A block of threads has a tile of 128 x 128 in registers, so that a matrix is read
// once.
namespace rm::device {

// lines: each row of a tile has a scale for its codes, each column one for its codes turned around.
// squares: a tile has one scale.
enum class Fp8Blocks { lines, squares };

template <typename Source>
struct Fp8BlockParams {
    Source source;
    std::uint8_t* codes;   // (T, C), or null
    std::uint8_t* turned;  // (C, T rounded up to 16), or null
    // (T, blocks of C) and (C, blocks of T); of squares (blocks of T, blocks of C) and turned.
    float* scales;
    float* turned_scales;
    float* amax;     // becomes the largest size if that is larger; or null
    float* known;    // likewise
    double* effect;  // the Fp8Effect of `codes` is added; or null
    std::int64_t T;
    std::int64_t C;
};

// A tile as bf16: a thread has rows 4w to 4w + 3 for w = its warp, its warp + 8, ..., and of these
// four neighbouring columns.
struct Fp8Tile {
    static constexpr int kSize = 128, kWarps = 8, kGroups = kSize / (4 * kWarps);
    std::uint32_t x[kGroups][4][2];

    SIMT_FN static std::int64_t first_row() {
        return static_cast<std::int64_t>(simt::block_x()) * kSize;
    }
    SIMT_FN static std::int64_t column() {
        return static_cast<std::int64_t>(simt::block_y()) * kSize + 4 * simt::lane();
    }
    // The number of four rows in the tile, by which their codes are kept.
    SIMT_FN static int word(int group) { return group * kWarps + simt::warp(); }
    SIMT_FN static std::int64_t row(int group, int r) { return first_row() + 4 * word(group) + r; }

    template <typename Source>
    SIMT_FN void load(const Source& source, std::int64_t T, std::int64_t C) {
        SIMT_UNROLL
        for (int i = 0; i < kGroups; ++i) {
            SIMT_UNROLL
            for (int r = 0; r < 4; ++r) {
                float numbers[4] = {};
                if (row(i, r) < T && column() < C) source.load(row(i, r), column(), numbers);
                x[i][r][0] = pack_bf16(numbers[0], numbers[1]);
                x[i][r][1] = pack_bf16(numbers[2], numbers[3]);
            }
        }
    }
    SIMT_FN void numbers(int group, int r, float (&to)[4]) const {
        SIMT_UNROLL
        for (int j = 0; j < 2; ++j) {
            to[2 * j] = low_bf16(x[group][r][j]);
            to[2 * j + 1] = high_bf16(x[group][r][j]);
        }
    }
    // The largest sizes of the thread's columns.
    SIMT_FN void measure(float (&columns)[4]) const {
        SIMT_UNROLL
        for (int i = 0; i < kGroups; ++i) {
            SIMT_UNROLL
            for (int r = 0; r < 4; ++r) {
                float x[4];
                numbers(i, r, x);
                SIMT_UNROLL
                for (int j = 0; j < 4; ++j)
                    columns[j] = fmaxf(columns[j], fabsf(x[j]));
            }
        }
    }
};

template <typename Format, typename Source, Fp8Blocks kBlocks>
struct Fp8BlockCastOf {
    static constexpr const char* kName = kBlocks == Fp8Blocks::squares ? "fp8_block_weight"
                                         : Format::kIsE4m3             ? "fp8_block_cast_e4m3"
                                                                       : "fp8_block_cast_e5m2";
    static constexpr int kThreads = 32 * Fp8Tile::kWarps;
    static constexpr int kMinBlocks = kBlocks == Fp8Blocks::lines ? 2 : 3;  // by registers
    static constexpr int kTile = Fp8Tile::kSize, kWords = kTile / 4;
    static constexpr float kLargest = Format::kIsE4m3 ? 448.0f : 57344.0f;
    static_assert(kWords == 32, "a warp takes four rows at a time, a lane four columns");
    struct Shared {
        // Word w of column c, at w ^ (c / 4): lanes write, and read, different banks.
        std::uint32_t columns[kTile][kWords];
        Words<float, 4> maxima[Fp8Tile::kWarps][kWords];
        Fp8EffectShared<kThreads> effect;
    };
    using Params = Fp8BlockParams<Source>;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        Fp8Tile tile;
        tile.load(p.source, p.T, p.C);
        float columns[4] = {};
        tile.measure(columns);
        merge_columns(columns, shared);
        const float largest = warp_max(largest_of(columns, 0));
        if (simt::thread() == 0) {
            raise(p.amax, largest);
            raise(p.known, largest);
        }
        const float square = kBlocks == Fp8Blocks::squares ? fp8_scale(kLargest, largest) : 0;
        if (p.codes != nullptr) store_rows(p, tile, square, shared);
        if (p.turned == nullptr) return;
        turn(p, tile, columns, square, shared);
        simt::sync_block();
        store_columns(p, shared);
    }

private:
    // Every thread's columns get the largest of all warps.
    SIMT_FN static void merge_columns(float (&columns)[4], Shared& shared) {
        shared.maxima[simt::warp()][simt::lane()] = {
            {columns[0], columns[1], columns[2], columns[3]}};
        simt::sync_block();
        SIMT_UNROLL
        for (int w = 0; w < Fp8Tile::kWarps; ++w) {
            const Words<float, 4> others = shared.maxima[w][simt::lane()];
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j)
                columns[j] = fmaxf(columns[j], others.x[j]);
        }
    }
    // Sizes are ordered as their bits are.
    SIMT_FN static void raise(float* to, float size) {
        if (to == nullptr) return;
        FloatBits bits;
        bits.value = size;
        simt::atomic_max(reinterpret_cast<int*>(to), static_cast<int>(bits.bits));
    }
    SIMT_FN static std::int64_t blocks_of(std::int64_t count) {
        return (count + kTile - 1) / kTile;
    }
    SIMT_FN static void store_word(std::uint8_t* to, std::uint32_t word) {
        *reinterpret_cast<Words<std::uint32_t, 1>*>(to) = {{word}};
    }
    SIMT_FN static std::uint32_t round4(float a, float b, float c, float d) {
        return Format::round2(a, b) | Format::round2(c, d) << 16;
    }

    // `square` is the factor of a tile that has one.
    SIMT_FN static void store_rows(const Params& p, const Fp8Tile& tile, float square,
                                   Shared& shared) {
        if (kBlocks == Fp8Blocks::squares && simt::thread() == 0)
            p.scales[simt::block_x() * blocks_of(p.C) + simt::block_y()] = 1 / square;
        Fp8EffectSums<Format> effect;
        SIMT_UNROLL
        for (int i = 0; i < Fp8Tile::kGroups; ++i) {
            SIMT_UNROLL
            for (int r = 0; r < 4; ++r)
                store_row(p, tile, i, r, square, effect);
        }
        if (p.effect != nullptr) effect.merge(p.effect, shared.effect);
    }
    SIMT_FN static void store_row(const Params& p, const Fp8Tile& tile, int i, int r, float square,
                                  Fp8EffectSums<Format>& effect) {
        const std::int64_t row = Fp8Tile::row(i, r), column = Fp8Tile::column();
        float x[4], factor = square;
        tile.numbers(i, r, x);
        if constexpr (kBlocks == Fp8Blocks::lines)
            factor = fp8_scale(kLargest, warp_max(largest_of(x, 0)));
        if (row >= p.T) return;
        if (kBlocks == Fp8Blocks::lines && simt::lane() == 0)
            p.scales[row * blocks_of(p.C) + simt::block_y()] = 1 / factor;
        if (column >= p.C) return;
        const std::uint32_t codes =
            round4(x[0] * factor, x[1] * factor, x[2] * factor, x[3] * factor);
        store_word(p.codes + row * p.C + column, codes);
        if (p.effect == nullptr) return;
        SIMT_UNROLL
        for (int j = 0; j < 4; ++j)
            effect.add(x[j], codes >> 8 * j, factor);
        effect.settle(1 / factor);
    }

    // Leaves the codes of columns in shared memory and their scales in `turned_scales`.
    SIMT_FN static void turn(const Params& p, const Fp8Tile& tile, const float (&columns)[4],
                             float square, Shared& shared) {
        float factors[4];
        SIMT_UNROLL
        for (int j = 0; j < 4; ++j)
            factors[j] = kBlocks == Fp8Blocks::squares ? square : fp8_scale(kLargest, columns[j]);
        store_turned_scales(p, factors);
        SIMT_UNROLL
        for (int i = 0; i < Fp8Tile::kGroups; ++i) {
            float x[4][4];
            SIMT_UNROLL
            for (int r = 0; r < 4; ++r)
                tile.numbers(i, r, x[r]);
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j)
                shared.columns[simt::lane() * 4 + j][Fp8Tile::word(i) ^ simt::lane()] =
                    round4(x[0][j] * factors[j], x[1][j] * factors[j], x[2][j] * factors[j],
                           x[3][j] * factors[j]);
        }
    }
    SIMT_FN static void store_turned_scales(const Params& p, const float (&factors)[4]) {
        if (simt::warp() != 0) return;
        const std::int64_t across = blocks_of(p.T);
        if constexpr (kBlocks == Fp8Blocks::squares) {
            if (simt::lane() == 0)
                p.turned_scales[simt::block_y() * across + simt::block_x()] = 1 / factors[0];
        } else {
            if (Fp8Tile::column() >= p.C) return;
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j)
                p.turned_scales[(Fp8Tile::column() + j) * across + simt::block_x()] =
                    1 / factors[j];
        }
    }

    // A warp writes 128 bytes of one column at a time.
    SIMT_FN static void store_columns(const Params& p, const Shared& shared) {
        const std::int64_t length = (p.T + 15) / 16 * 16;
        const std::int64_t row = Fp8Tile::first_row() + simt::lane() * 4;
        if (row >= length) return;
        SIMT_UNROLL
        for (int c = simt::warp(); c < kTile; c += kThreads / 32) {
            const std::int64_t column = static_cast<std::int64_t>(simt::block_y()) * kTile + c;
            if (column >= p.C) break;
            store_word(p.turned + column * length + row, shared.columns[c][simt::lane() ^ c / 4]);
        }
    }
};

}  // namespace rm::device
