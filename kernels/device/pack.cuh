#pragma once

#include "kernels/device/reduce.h"
#include "kernels/device/vectors.h"

// Rows in FP8 with a factor each (kernels/ops/pack.h). A warp takes a row at a time, a lane four
// numbers of it, which are a word.
namespace rm::device {

SIMT_FN std::int64_t num_code_words(std::int64_t C) {
    return (C + 3) / 4;
}

// row(t) for the rows of each warp.
template <int kThreads, typename Row>
SIMT_FN void for_warp_rows(std::int64_t T, const Row& row) {
    constexpr int kWarps = kThreads / 32;
    const std::int64_t step = static_cast<std::int64_t>(simt::grid_x()) * kWarps;
    const std::int64_t first = static_cast<std::int64_t>(simt::block_x()) * kWarps;
    for (std::int64_t t = first + simt::warp(); t < T; t += step)
        row(t);
}

struct PackRowsParams {
    const std::uint16_t* x;  // (T, C) bf16
    std::uint32_t* packed;   // (T, C / 4, rounded up, and one)
    std::int64_t T;
    std::int64_t C;
};

// kWidth: 4 where C is a multiple of it and rows are aligned; else 1.
template <int kWidth>
struct PackRows : PlainKernel<256, 4> {
    static constexpr const char* kName = kWidth == 1 ? "pack_rows_unaligned" : "pack_rows";
    using Params = PackRowsParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        for_warp_rows<kThreads>(p.T, [&](std::int64_t t) { pack(p, t); });
    }

private:
    SIMT_FN static void pack(const Params& p, std::int64_t t) {
        const std::int64_t words = num_code_words(p.C);
        const std::uint16_t* row = p.x + t * p.C;
        std::uint32_t* packed = p.packed + t * (words + 1);
        float amax = 0, x[4];
        for (std::int64_t i = simt::lane(); i < words; i += 32) {
            load_word(row, p.C, i, x);
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j)
                amax = fmaxf(amax, fabsf(x[j]));
        }
        const float scale = e4m3_scale(warp_max(amax));
        for (std::int64_t i = simt::lane(); i < words; i += 32) {
            load_word(row, p.C, i, x);
            packed[i] = simt::round_e4m3x2(scale * x[0], scale * x[1]) |
                        simt::round_e4m3x2(scale * x[2], scale * x[3]) << 16;
        }
        FloatBits inverse;
        inverse.value = 1 / scale;
        if (simt::lane() == 0) packed[words] = inverse.bits;
    }

    SIMT_FN static void load_word(const std::uint16_t* row, std::int64_t C, std::int64_t word,
                                  float (&x)[4]) {
        if constexpr (kWidth == 4) {
            load(row + word * 4, x);
        } else {
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j) {
                const std::int64_t c = word * 4 + j;
                x[j] = c < C ? from_bf16(row[c]) : 0;
            }
        }
    }
};

struct UnpackRowsParams {
    const std::uint32_t* packed;  // as PackRows writes it
    std::uint16_t* x;             // (T, C) bf16
    std::int64_t T;
    std::int64_t C;
};

template <int kWidth>
struct UnpackRows : PlainKernel<256, 4> {
    static constexpr const char* kName = kWidth == 1 ? "unpack_rows_unaligned" : "unpack_rows";
    using Params = UnpackRowsParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        for_warp_rows<kThreads>(p.T, [&](std::int64_t t) { unpack_row(p, t); });
    }

private:
    SIMT_FN static void unpack_row(const Params& p, std::int64_t t) {
        const std::int64_t words = num_code_words(p.C);
        const std::uint32_t* packed = p.packed + t * (words + 1);
        std::uint16_t* row = p.x + t * p.C;
        FloatBits inverse;
        inverse.bits = packed[words];
        for (std::int64_t i = simt::lane(); i < words; i += 32) {
            float x[4];
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j)
                x[j] = inverse.value * from_e4m3(packed[i] >> (8 * j) & 0xff);
            store_word(row, p.C, i, x);
        }
    }

    SIMT_FN static void store_word(std::uint16_t* row, std::int64_t C, std::int64_t word,
                                   const float (&x)[4]) {
        if constexpr (kWidth == 4) {
            store(row + word * 4, x);
        } else {
            SIMT_UNROLL
            for (int j = 0; j < 4; ++j) {
                if (word * 4 + j < C) row[word * 4 + j] = to_bf16(x[j]);
            }
        }
    }
};

}  // namespace rm::device
