#pragma once

#include "kernels/device/reduce.h"
#include "kernels/device/vectors.h"

// RMSNorm (Zhang and Sennrich, 2019): y = x / sqrt(mean(x^2) + eps) * weight. A block takes a row
// at a time and keeps it in registers; rows that do not fit or are not aligned go element by
// element.
namespace rm::device {

// Rows that one block reads for the gradient of the weight; its part of the sum is written out, and
// the parts are added in order. Cutting the tokens at multiples of this changes no bit.
constexpr int kRmsNormRows = 16;

// Takes what the threads of a block sum over a row. One float per warp, twice: a row's sums are
// read while the next row's are written.
template <int kThreads>
struct RowSums {
    float sums[2][kThreads / 32];

    // row(t, sums) for the rows of this block: blocks take turns.
    template <typename Row>
    SIMT_FN void for_rows(std::int64_t T, const Row& row) {
        int parity = 0;
        for (std::int64_t t = simt::block_x(); t < T; t += simt::grid_x()) {
            row(t, sums[parity]);
            parity ^= 1;
        }
    }
};

// A kernel whose blocks go over a row that does not fit them, element by element.
struct AnyRow {
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    using Shared = RowSums<kThreads>;
};

struct RmsNormForwardParams {
    const std::uint16_t* x;  // (T, C) bf16
    const float* weight;     // (C)
    std::uint16_t* y;        // (T, C) bf16
    float* rstd;             // (T)
    std::int64_t T;
    std::int64_t C;
    float eps;

    SIMT_FN float rstd_of(float squares) const {
        return 1 / sqrtf(squares / static_cast<float>(C) + eps);
    }
};

// Rows of at most kThreads * kVectors * 8, a multiple of 8.
template <int kNumThreads>
struct RmsNormForward {
    static constexpr const char* kName = "rmsnorm_fwd";
    static constexpr int kThreads = kNumThreads;
    static constexpr int kMinBlocks = kThreads < 64 ? 16 : 1024 / kThreads;
    static constexpr int kVectors = 4;
    using Shared = RowSums<kThreads>;
    using Params = RmsNormForwardParams;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        shared.for_rows(p.T, [&](std::int64_t t, float* sums) { row(p, t, sums); });
    }

private:
    SIMT_FN static int column(int i) { return (i * kThreads + simt::thread()) * 8; }

    SIMT_FN static void row(const Params& p, std::int64_t t, float* sums) {
        Packed<8> x[kVectors];
        float squares = 0;
        SIMT_UNROLL
        for (int i = 0; i < kVectors; ++i) {
            if (column(i) >= p.C) continue;
            x[i] = load_packed<8>(p.x + t * p.C + column(i));
            float values[8];
            unpack<8>(x[i], values);
            SIMT_UNROLL
            for (int j = 0; j < 8; ++j)
                squares += values[j] * values[j];
        }
        const float rstd = p.rstd_of(block_sum<kThreads>(squares, sums));
        if (simt::thread() == 0) p.rstd[t] = rstd;
        SIMT_UNROLL
        for (int i = 0; i < kVectors; ++i) {
            if (column(i) >= p.C) continue;
            float values[8], weight[8];
            unpack<8>(x[i], values);
            load(p.weight + column(i), weight);
            SIMT_UNROLL
            for (int j = 0; j < 8; ++j)
                values[j] = values[j] * rstd * weight[j];
            store(p.y + t * p.C + column(i), values);
        }
    }
};

struct RmsNormForwardAnyRow : AnyRow {
    static constexpr const char* kName = "rmsnorm_fwd_any_row";
    using Params = RmsNormForwardParams;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        shared.for_rows(p.T, [&](std::int64_t t, float* sums) {
            row(p, p.x + t * p.C, p.y + t * p.C, p.rstd + t, sums);
        });
    }

private:
    SIMT_FN static void row(const Params& p, const std::uint16_t* x, std::uint16_t* y, float* rstd,
                            float* sums) {
        float squares = 0;
        for (std::int64_t c = simt::thread(); c < p.C; c += kThreads) {
            const float value = from_bf16(x[c]);
            squares += value * value;
        }
        const float factor = p.rstd_of(block_sum<kThreads>(squares, sums));
        if (simt::thread() == 0) *rstd = factor;
        for (std::int64_t c = simt::thread(); c < p.C; c += kThreads)
            y[c] = to_bf16(from_bf16(x[c]) * factor * p.weight[c]);
    }
};

struct RmsNormBackwardParams {
    const std::uint16_t* d_y;  // (T, C) bf16
    const std::uint16_t* x;    // (T, C) bf16
    const float* weight;       // (C)
    const float* rstd;         // (T)
    std::uint16_t* d_x;        // (T, C) bf16, summed into
    float* parts;              // (blocks, C): each block's part of the gradient of the weight
    std::int64_t T;
    std::int64_t C;
};

// d_x += rstd (d_y w - x rstd^2 mean(d_y w x)). Block b takes rows [b, b + 1) * kRmsNormRows; rows
// of at most kThreads * kVectors * 8, a multiple of 8.
template <int kNumThreads>
struct RmsNormBackward {
    static constexpr const char* kName = "rmsnorm_bwd";
    static constexpr int kThreads = kNumThreads;
    static constexpr int kMinBlocks = kThreads < 64 ? 16 : 1024 / kThreads;
    static constexpr int kVectors = 2;
    using Shared = RowSums<kThreads>;
    using Params = RmsNormBackwardParams;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        float part[kVectors][8] = {};
        const std::int64_t first = static_cast<std::int64_t>(simt::block_x()) * kRmsNormRows;
        const std::int64_t end = first + kRmsNormRows < p.T ? first + kRmsNormRows : p.T;
        for (std::int64_t t = first; t < end; ++t)
            row(p, t, part, shared.sums[t & 1]);
        SIMT_UNROLL
        for (int i = 0; i < kVectors; ++i) {
            if (column(i) < p.C) store(p.parts + simt::block_x() * p.C + column(i), part[i]);
        }
    }

private:
    SIMT_FN static int column(int i) { return (i * kThreads + simt::thread()) * 8; }

    SIMT_FN static void row(const Params& p, std::int64_t t, float (&part)[kVectors][8],
                            float* sums) {
        const float rstd = p.rstd[t];
        Packed<8> xs[kVectors], d_ys[kVectors], d_xs[kVectors];
        float sum = 0;
        SIMT_UNROLL
        for (int i = 0; i < kVectors; ++i) {
            if (column(i) >= p.C) continue;
            const std::int64_t at = t * p.C + column(i);
            xs[i] = load_packed<8>(p.x + at);
            d_ys[i] = load_packed<8>(p.d_y + at);
            d_xs[i] = load_packed<8>(p.d_x + at);
        }
        SIMT_UNROLL
        for (int i = 0; i < kVectors; ++i) {
            if (column(i) >= p.C) continue;
            float x[8], d_y[8], weight[8];
            unpack<8>(xs[i], x);
            unpack<8>(d_ys[i], d_y);
            load(p.weight + column(i), weight);
            SIMT_UNROLL
            for (int j = 0; j < 8; ++j) {
                part[i][j] += d_y[j] * x[j] * rstd;
                sum += d_y[j] * weight[j] * x[j];
            }
        }
        sum = block_sum<kThreads>(sum, sums);
        const float pull = rstd * rstd * rstd * sum / static_cast<float>(p.C);
        SIMT_UNROLL
        for (int i = 0; i < kVectors; ++i) {
            if (column(i) >= p.C) continue;
            float x[8], d_y[8], d_x[8], weight[8];
            unpack<8>(xs[i], x);
            unpack<8>(d_ys[i], d_y);
            unpack<8>(d_xs[i], d_x);
            load(p.weight + column(i), weight);
            SIMT_UNROLL
            for (int j = 0; j < 8; ++j)
                d_x[j] += rstd * d_y[j] * weight[j] - x[j] * pull;
            store(p.d_x + t * p.C + column(i), d_x);
        }
    }
};

struct RmsNormBackwardAnyRow : AnyRow {
    static constexpr const char* kName = "rmsnorm_bwd_any_row";
    using Params = RmsNormBackwardParams;

    // A thread has the same columns in every row, so it alone sums their part.
    SIMT_FN static void run(const Params& p, Shared& shared) {
        float* part = p.parts + simt::block_x() * p.C;
        const std::int64_t first = static_cast<std::int64_t>(simt::block_x()) * kRmsNormRows;
        const std::int64_t end = first + kRmsNormRows < p.T ? first + kRmsNormRows : p.T;
        for (std::int64_t c = simt::thread(); c < p.C; c += kThreads)
            part[c] = 0;
        for (std::int64_t t = first; t < end; ++t)
            row(p, t, part, shared.sums[t & 1]);
    }

private:
    SIMT_FN static void row(const Params& p, std::int64_t t, float* part, float* sums) {
        const float rstd = p.rstd[t];
        const std::uint16_t *x = p.x + t * p.C, *d_y = p.d_y + t * p.C;
        std::uint16_t* d_x = p.d_x + t * p.C;
        float sum = 0;
        for (std::int64_t c = simt::thread(); c < p.C; c += kThreads) {
            const float value = from_bf16(x[c]), gradient = from_bf16(d_y[c]);
            part[c] += gradient * value * rstd;
            sum += gradient * p.weight[c] * value;
        }
        sum = block_sum<kThreads>(sum, sums);
        const float pull = rstd * rstd * rstd * sum / static_cast<float>(p.C);
        for (std::int64_t c = simt::thread(); c < p.C; c += kThreads) {
            const float pulled = rstd * from_bf16(d_y[c]) * p.weight[c];
            d_x[c] = to_bf16(from_bf16(d_x[c]) + pulled - from_bf16(x[c]) * pull);
        }
    }
};

// d_weight += the parts, in order. One thread per column; loads far ahead of the sum.
struct RmsNormAddParts : PlainKernel<32, 16> {
    static constexpr const char* kName = "rmsnorm_add_parts";
    struct Params {
        const float* parts;  // (num_parts, C)
        float* d_weight;     // (C), summed into
        std::int64_t num_parts;
        std::int64_t C;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        constexpr int kAtOnce = 32;
        const std::int64_t c =
            static_cast<std::int64_t>(simt::block_x()) * kThreads + simt::thread();
        if (c >= p.C) return;
        float sum = p.d_weight[c];
        std::int64_t i = 0;
        for (; i + kAtOnce <= p.num_parts; i += kAtOnce) {
            float parts[kAtOnce];
            SIMT_UNROLL
            for (int j = 0; j < kAtOnce; ++j)
                parts[j] = p.parts[(i + j) * p.C + c];
            SIMT_UNROLL
            for (int j = 0; j < kAtOnce; ++j)
                sum += parts[j];
        }
        for (; i < p.num_parts; ++i)
            sum += p.parts[i * p.C + c];
        p.d_weight[c] = sum;
    }
};

}  // namespace rm::device
