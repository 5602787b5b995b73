#pragma once

#include "kernels/device/fp8/effect.cuh"
#include "kernels/device/numbers.h"
#include "kernels/device/quantize_source.cuh"
#include "kernels/device/rmsnorm.cuh"

// Rounding to FP8 with one scale per tensor, in both orientations at once.
namespace rm::device {

// amax = max(amax, the block's largest), and so `also` if it is not null. Sizes are ordered as
// their bits are.
template <int kThreads>
SIMT_FN void merge_amax(float* amax, float mine, float* maxima, float* also = nullptr) {
    FloatBits largest;
    largest.value = block_max<kThreads>(mine, maxima);
    if (simt::thread() != 0) return;
    simt::atomic_max(reinterpret_cast<int*>(amax), static_cast<int>(largest.bits));
    if (also != nullptr)
        simt::atomic_max(reinterpret_cast<int*>(also), static_cast<int>(largest.bits));
}

// Rows go to blocks, columns of a row to threads.
template <typename Source>
struct Fp8AmaxOf {
    static constexpr const char* kName = Source::kAmaxName;
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    struct Shared {
        float maxima[kThreads / 32];
    };
    struct Params {
        Source source;
        float* amax;
        std::int64_t T;
        std::int64_t C;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        float largest = 0;
        for (std::int64_t t = simt::block_x(); t < p.T; t += simt::grid_x()) {
            for (std::int64_t c = simt::thread() * 8; c < p.C; c += kThreads * 8) {
                float x[8];
                p.source.load(t, c, x);
                largest = largest_of(x, largest);
            }
        }
        merge_amax<kThreads>(p.amax, largest, shared.maxima);
    }
};

// The first pass of an RMSNorm whose result is rounded to FP8: rstd, and the largest result. The
// second reading of a row comes from the cache.
struct Fp8AmaxOfRmsNorm {
    static constexpr const char* kName = "fp8_amax_rmsnorm";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    struct Shared {
        RowSums<kThreads> rows;
        float maxima[kThreads / 32];
    };
    struct Params {
        RmsNormSource source;
        float* rstd;  // (T), which the source reads
        float* amax;
        std::int64_t T;
        float eps;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        float largest = 0;
        shared.rows.for_rows(
            p.T, [&](std::int64_t t, float* sums) { largest = row(p, t, largest, sums); });
        merge_amax<kThreads>(p.amax, largest, shared.maxima);
    }

private:
    SIMT_FN static float row(const Params& p, std::int64_t t, float largest, float* sums) {
        const RmsNormSource& source = p.source;
        float squares = 0;
        for (std::int64_t c = simt::thread() * 8; c < source.C; c += kThreads * 8) {
            float x[8];
            load(source.x + t * source.C + c, x);
            SIMT_UNROLL
            for (const float value : x)
                squares += value * value;
        }
        const float mean = block_sum<kThreads>(squares, sums) / static_cast<float>(source.C);
        const float rstd = 1 / sqrtf(mean + p.eps);
        if (simt::thread() == 0) p.rstd[t] = rstd;
        for (std::int64_t c = simt::thread() * 8; c < source.C; c += kThreads * 8) {
            float y[8];
            source.load(t, c, rstd, y);
            largest = largest_of(y, largest);
        }
        return largest;
    }
};

// The scale of a tensor from the maxima of one or more of its past or present values: the inverse
// of the largest power of two under largest / amax (kernels/fp8.h).
struct Fp8ScaleOf : PlainKernel<32, 1> {
    static constexpr const char* kName = "fp8_scale";
    struct Params {
        const float* amax;  // (count)
        float* scale;       // (1): what codes are multiplied by
        float* other;       // (1), the same, or null
        std::int64_t count;
        float largest;  // number of the format
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        float amax = 0;
        for (std::int64_t i = simt::thread(); i < p.count; i += kThreads)
            amax = fmaxf(amax, p.amax[i]);
        amax = warp_max(amax);
        if (simt::thread() != 0) return;
        const float scale = 1 / fp8_scale(p.largest, amax);
        p.scale[0] = scale;
        if (p.other != nullptr) p.other[0] = scale;
    }
};

// The scales of e4m3 tensors that ranks hold in parts; a thread finds one.
struct Fp8ScalesOfParts : PlainKernel<128, 1> {
    static constexpr const char* kName = "fp8_scales";
    struct Params {
        const float* maxima;  // (R, S)
        float* scales;        // (S): what codes are multiplied by
        std::int64_t R;
        std::int64_t S;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        const std::int64_t s =
            static_cast<std::int64_t>(simt::block_x()) * kThreads + simt::thread();
        if (s >= p.S) return;
        float largest = 0;
        for (std::int64_t r = 0; r < p.R; ++r)
            largest = fmaxf(largest, p.maxima[r * p.S + s]);
        p.scales[s] = 1 / fp8_scale(448.0f, largest);
    }
};

// A block rounds a tile of kTile x kTile. A thread takes 4 x 4 elements at a time, writes their
// rows, turns them around in registers and leaves their columns in shared memory.
template <typename Format, typename Source>
struct Fp8CastOf {
    static constexpr const char* kName = Source::template cast_name<Format>();
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 2;
    static constexpr int kTile = 128, kWords = kTile / 4;
    static_assert(kWords == 32, "a warp takes four rows at a time, a lane four columns");
    struct Shared {
        // Word w of column c, at w ^ (c / 4): lanes write, and read, different banks.
        std::uint32_t columns[kTile][kWords];
        float maxima[kThreads / 32];
        Fp8EffectShared<kThreads> effect;
    };
    struct Params {
        Source source;
        const float* scale;
        std::uint8_t* codes;       // (T, C), or null
        std::uint8_t* transposed;  // (C, T rounded up to 16), or null
        float* amax;
        float* known;    // becomes amax if that is larger; or null
        double* effect;  // Fp8Effect; or null
        std::int64_t T;
        std::int64_t C;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const float factor = 1 / p.scale[0];
        float largest = 0;
        Fp8EffectSums<Format> effect;
        SIMT_UNROLL
        for (int i = 0; i < kWords / (kThreads / 32); ++i) {
            const int w = i * (kThreads / 32) + simt::warp();
            largest = four_rows(p, shared, w, factor, largest, effect);
        }
        if (p.effect != nullptr) {
            effect.settle(p.scale[0]);
            effect.merge(p.effect, shared.effect);
        }
        // The barrier in here is also the one between writing and reading columns.
        merge_amax<kThreads>(p.amax, largest, shared.maxima, p.known);
        if (p.transposed != nullptr) store_columns(p, shared);
    }

private:
    SIMT_FN static std::int64_t first_row() {
        return static_cast<std::int64_t>(simt::block_x()) * kTile;
    }
    SIMT_FN static std::int64_t first_column() {
        return static_cast<std::int64_t>(simt::block_y()) * kTile;
    }

    // Rows 4w .. 4w + 3 of the tile. All are loaded before the first is written.
    SIMT_FN static float four_rows(const Params& p, Shared& shared, int w, float factor,
                                   float largest, Fp8EffectSums<Format>& effect) {
        const std::int64_t row = first_row() + 4 * w, column = first_column() + simt::lane() * 4;
        const int num_rows = column < p.C ? rows_left(p.T - row) : 0;
        float x[4][4] = {};
        SIMT_UNROLL
        for (int r = 0; r < 4; ++r) {
            if (r < num_rows) p.source.load(row + r, column, x[r]);
        }
        std::uint32_t rows[4];
        SIMT_UNROLL
        for (int r = 0; r < 4; ++r) {
            largest = largest_of(x[r], largest);
            rows[r] = Format::round2(x[r][0] * factor, x[r][1] * factor) |
                      Format::round2(x[r][2] * factor, x[r][3] * factor) << 16;
            if (r < num_rows && p.codes != nullptr)
                store_word(p.codes + (row + r) * p.C + column, rows[r]);
            if (p.effect != nullptr) observe(effect, x[r], rows[r], factor);
        }
        SIMT_UNROLL
        for (int j = 0; j < 4; ++j)
            shared.columns[simt::lane() * 4 + j][w ^ simt::lane()] = column_of(rows, j);
        return largest;
    }
    // Numbers outside of the tensor are 0, which does not count.
    SIMT_FN static void observe(Fp8EffectSums<Format>& effect, const float (&x)[4],
                                std::uint32_t codes, float factor) {
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i)
            effect.add(x[i], codes >> 8 * i, factor);
    }
    SIMT_FN static int rows_left(std::int64_t count) {
        return count < 0 ? 0 : count < 4 ? static_cast<int>(count) : 4;
    }
    SIMT_FN static void store_word(std::uint8_t* to, std::uint32_t word) {
        *reinterpret_cast<Words<std::uint32_t, 1>*>(to) = {{word}};
    }

    // Byte j of all four.
    SIMT_FN static std::uint32_t column_of(const std::uint32_t (&rows)[4], int j) {
        std::uint32_t column = 0;
        SIMT_UNROLL
        for (int r = 0; r < 4; ++r)
            column |= (rows[r] >> 8 * j & 0xff) << 8 * r;
        return column;
    }

    // A warp writes 128 bytes of one column at a time.
    SIMT_FN static void store_columns(const Params& p, const Shared& shared) {
        const std::int64_t length = (p.T + 15) / 16 * 16, row = first_row() + simt::lane() * 4;
        if (row >= length) return;
        SIMT_UNROLL
        for (int c = simt::warp(); c < kTile; c += kThreads / 32) {
            const std::int64_t column = first_column() + c;
            if (column >= p.C) break;
            store_word(p.transposed + column * length + row,
                       shared.columns[c][simt::lane() ^ c / 4]);
        }
    }
};

}  // namespace rm::device
