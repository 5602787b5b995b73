#pragma once

#include "kernels/device/quantize_source.cuh"
#include "kernels/device/tile.h"
#include "kernels/device/vectors.h"

// out (rows, columns) = or += a b^T of FP8 codes with scales of blocks of 128 along the depth.
// Tensor cores sum the 128 products of a block; the result is multiplied by both operands' scales
// and added to fp32 sums outside of them, whose addition rounds to nearest (DeepSeek-V3 Technical
// Report, 2024, section 3.3.2).
//
// A block of threads has a tile of 128 x 128, a warp 64 x 32 of it. Each step takes 128 of the
// depth, while the next one's codes arrive. Two codes are kept as one element of 16 bits: the
// fragments of m16n8k32 are those of m16n8k16 with two codes in the place of a number.
namespace rm::device {

template <typename FormatA, typename FormatB>
SIMT_FN void mma_fp8(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    static_assert(FormatA::kIsE4m3 || FormatB::kIsE4m3, "gradients are not multiplied together");
    if constexpr (!FormatA::kIsE4m3) {
        simt::mma_e5m2_e4m3(d, a, b);
    } else if constexpr (!FormatB::kIsE4m3) {
        simt::mma_e4m3_e5m2(d, a, b);
    } else {
        simt::mma_e4m3(d, a, b);
    }
}

// One operand: codes (rows, depth); row r has the scales of row r >> shift of (..., blocks of the
// depth).
struct Fp8BlockOperand {
    const std::uint8_t* codes;
    const float* scales;
    std::int64_t rows;
    int shift;
};

template <typename Out>
struct Fp8BlockProductParams {
    Fp8BlockOperand a, b;
    Out* out;            // (a.rows, b.rows)
    std::int64_t depth;  // a multiple of 16, as b.rows is
    int adds;            // to what is in `out`
};

template <typename FormatA, typename FormatB, typename Out>
struct Fp8BlockProductOf {
    static constexpr const char* kName = !FormatA::kIsE4m3   ? "fp8_block_product_e5m2_e4m3"
                                         : !FormatB::kIsE4m3 ? "fp8_block_product_e4m3_e5m2"
                                                             : "fp8_block_product_e4m3";
    static constexpr int kThreads = 256, kMinBlocks = 1;
    static constexpr int kTile = 128, kStep = 128;  // codes
    static constexpr int kWarpRows = 64, kWarpColumns = 32, kWarpsAcross = kTile / kWarpColumns;
    static_assert(kTile * kTile == kWarpRows * kWarpColumns * (kThreads / 32));
    using Codes = SharedTile<kTile, kStep / 2>;
    using Sums = RegisterTile<kWarpRows, kWarpColumns>;
    struct Stage {
        Codes a, b;
        float scales[2 * kTile];  // of the rows of a, then of b
    };
    struct Shared {
        Stage stages[2];
    };
    using Params = Fp8BlockProductParams<Out>;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const int num_steps = static_cast<int>((p.depth + kStep - 1) / kStep);
        copy_step(p, shared.stages[0], 0);
        shared.stages[0].scales[simt::thread()] = scale(p, 0);
        simt::cp_async_commit();
        Sums sums;
        fill(sums, 0);
        for (int step = 0; step < num_steps; ++step) {
            Stage& stage = shared.stages[step % 2];
            Stage& next = shared.stages[(step + 1) % 2];
            const bool more = step + 1 < num_steps;
            // Codes and scales of this step are there, and all warps have left the other stage.
            simt::cp_async_wait<0>();
            simt::sync_block();
            if (more) copy_step(p, next, step + 1);
            simt::cp_async_commit();
            // Asked for before the products and kept after them, so that they hide its way.
            const float next_scale = more ? scale(p, step + 1) : 0;
            Sums block;
            multiply(block, stage);
            promote(sums, block, stage);
            next.scales[simt::thread()] = next_scale;
        }
        store(p, sums);
    }

private:
    SIMT_FN static int warp_row() { return simt::warp() / kWarpsAcross * kWarpRows; }
    SIMT_FN static int warp_column() { return simt::warp() % kWarpsAcross * kWarpColumns; }
    SIMT_FN static std::int64_t tile_row() {
        return static_cast<std::int64_t>(simt::block_x()) * kTile;
    }
    SIMT_FN static std::int64_t tile_column() {
        return static_cast<std::int64_t>(simt::block_y()) * kTile;
    }

    // Codes outside of an operand become zeros.
    SIMT_FN static void copy_step(const Params& p, Stage& to, int step) {
        copy(to.a, p.a, tile_row(), p.depth, step);
        copy(to.b, p.b, tile_column(), p.depth, step);
    }
    SIMT_FN static void copy(Codes& to, const Fp8BlockOperand& from, std::int64_t first,
                             std::int64_t depth, int step) {
        constexpr int kChunks = kStep / 16, kRowsPerRound = kThreads / kChunks;
        const int chunk = simt::thread() % kChunks;
        const std::int64_t column = static_cast<std::int64_t>(step) * kStep + chunk * 16;
        SIMT_UNROLL
        for (int i = 0; i < kTile; i += kRowsPerRound) {
            const int row = i + simt::thread() / kChunks;
            const bool inside = first + row < from.rows && column < depth;
            simt::cp_async_16(&to.element(row, chunk * 8),
                              inside ? from.codes + (first + row) * depth + column : from.codes,
                              inside ? 16 : 0);
        }
    }

    // The scale that this thread brings: threads have the tile's rows of a, then those of b.
    SIMT_FN static float scale(const Params& p, int step) {
        const bool of_a = simt::thread() < kTile;
        const Fp8BlockOperand& from = of_a ? p.a : p.b;
        const std::int64_t row = (of_a ? tile_row() : tile_column()) + simt::thread() % kTile;
        if (row >= from.rows) return 0;
        return from.scales[(row >> from.shift) * ((p.depth + kStep - 1) / kStep) + step];
    }

    SIMT_FN static void multiply(Sums& block, Stage& stage) {
        fill(block, 0);
        SIMT_UNROLL
        for (int k = 0; k < kStep / 2; k += kMmaDepth) {
            simt::sync_warp();  // without it ptxas works on several k at once and spills on sm_90a
            std::uint32_t b[kWarpColumns / 16][4];
            SIMT_UNROLL
            for (int n = 0; n < kWarpColumns / 16; ++n)
                load_fragments_bt(b[n], stage.b.at(warp_column(), 0), k, n * 16);
            SIMT_UNROLL
            for (int i = 0; i < kWarpRows / kMmaRows; ++i) {
                std::uint32_t a[4];
                load_fragment_a(a, stage.a.at(warp_row(), 0), i * kMmaRows, k);
                SIMT_UNROLL
                for (int n = 0; n < kWarpColumns / 16; ++n) {
                    const std::uint32_t left[2] = {b[n][0], b[n][1]}, right[2] = {b[n][2], b[n][3]};
                    mma_fp8<FormatA, FormatB>(block.x[i][2 * n], a, left);
                    mma_fp8<FormatA, FormatB>(block.x[i][2 * n + 1], a, right);
                }
            }
        }
    }

    // sums += block * scales. One scale after the other: their product may be out of range.
    SIMT_FN static void promote(Sums& sums, const Sums& block, const Stage& stage) {
        const float* rows = stage.scales + warp_row() + fragment_row(0);
        const float* columns = stage.scales + kTile + warp_column() + fragment_column(0);
        SIMT_UNROLL
        for (int j = 0; j < kWarpColumns / kMmaColumns; ++j) {
            const FloatPair of_columns = load_pair(columns + j * kMmaColumns);
            SIMT_UNROLL
            for (int i = 0; i < kWarpRows / kMmaRows; ++i) {
                SIMT_UNROLL
                for (int e = 0; e < 4; ++e) {
                    const float of_row = rows[i * kMmaRows + e / 2 * 8];
                    sums.x[i][j][e] =
                        fmaf(block.x[i][j][e] * of_row,
                             e % 2 == 0 ? of_columns.left : of_columns.right, sums.x[i][j][e]);
                }
            }
        }
    }

    SIMT_FN static FloatPair read_pair(const float* from) { return load_pair(from); }
    SIMT_FN static FloatPair read_pair(const std::uint16_t* from) {
        const Packed<2> pair = load_packed<2>(from);
        return {low_bf16(pair.x[0]), high_bf16(pair.x[0])};
    }
    SIMT_FN static void write_pair(float* to, FloatPair pair) {
        store_pair(to, pair.left, pair.right);
    }
    SIMT_FN static void write_pair(std::uint16_t* to, FloatPair pair) {
        *reinterpret_cast<Packed<2>*>(to) = {{pack_bf16(pair.left, pair.right)}};
    }

    SIMT_FN static void store(const Params& p, const Sums& sums) {
        const std::int64_t columns = p.b.rows;
        const std::int64_t first = tile_column() + warp_column() + fragment_column(0);
        SIMT_UNROLL
        for (int i = 0; i < kWarpRows / kMmaRows; ++i) {
            SIMT_UNROLL
            for (int r = 0; r < 2; ++r) {
                const std::int64_t row =
                    tile_row() + warp_row() + i * kMmaRows + fragment_row(2 * r);
                if (row >= p.a.rows) continue;
                SIMT_UNROLL
                for (int j = 0; j < kWarpColumns / kMmaColumns; ++j) {
                    if (first + j * kMmaColumns >= columns) continue;
                    Out* to = p.out + row * columns + first + j * kMmaColumns;
                    FloatPair pair = {sums.x[i][j][2 * r], sums.x[i][j][2 * r + 1]};
                    if (p.adds != 0) {
                        const FloatPair before = read_pair(to);
                        pair = {before.left + pair.left, before.right + pair.right};
                    }
                    write_pair(to, pair);
                }
            }
        }
    }
};

}  // namespace rm::device
