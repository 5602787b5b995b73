#pragma once

#include "kernels/device/vectors.h"

// The ops around attention: all go once over (rows, D), a row being one head of one token, with
// D / 8 neighbouring lanes to a row and 8 columns to a lane. They are bound by memory.
namespace rm::device {

constexpr float kLn2 = 0.6931471805599453f;
constexpr float kLog2OfE = 1.4426950408889634f;

using RowKernel = PlainKernel<256, 4>;

// One thread's part; kHead is D rounded up to the lanes of a row, a power of two.
template <int kHead>
struct RowPart {
    static constexpr int kLanes = kHead / 8;
    static constexpr int kRowsPerBlock = RowKernel::kThreads / kLanes;
    static_assert(32 % kLanes == 0, "a row lies within a warp");

    SIMT_FN RowPart(std::int64_t num_rows, int D)
        : row(static_cast<std::int64_t>(simt::block_x()) * kRowsPerBlock + simt::thread() / kLanes),
          column(simt::thread() % kLanes * 8),
          at(row * D + column),
          in_row(row < num_rows),
          inside(in_row && column < D),
          leads(in_row && column == 0) {}

    std::int64_t row;
    int column;
    std::int64_t at;  // element
    bool in_row;      // the row exists
    bool inside;      // and the columns too
    bool leads;       // reads and writes what the row has one of
};

// The state that has seen no key.
template <int kHead>
struct AttentionStart : RowKernel {
    static constexpr const char* kName = "attention_begin";
    struct Params {
        float* acc;  // (rows, D)
        float* m;    // (rows)
        float* l;    // (rows)
        std::int64_t num_rows;
        int D;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        const RowPart<kHead> part(p.num_rows, p.D);
        constexpr float kZeros[8] = {};
        if (part.inside) store(p.acc + part.at, kZeros);
        if (!part.leads) return;
        p.m[part.row] = -INFINITY;
        p.l[part.row] = 0;
    }
};

// Adds another state of the same rows. Two that have seen no key make one that has seen none.
template <int kHead>
struct AttentionJoin : RowKernel {
    static constexpr const char* kName = "attention_merge";
    struct Params {
        const float* other_acc;  // (rows, D)
        const float* other_m;    // (rows)
        const float* other_l;    // (rows)
        float* acc;              // (rows, D)
        float* m;                // (rows)
        float* l;                // (rows)
        std::int64_t num_rows;
        int D;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        const RowPart<kHead> part(p.num_rows, p.D);
        const float m = part.in_row ? p.m[part.row] : 0;
        const float other_m = part.in_row ? p.other_m[part.row] : 0;
        // The row's lanes, which are of one warp, have read m before their leader changes it.
        simt::sync_warp();
        if (!part.inside) return;
        const float max = fmaxf(m, other_m);
        const float keep = m == max ? 1 : exp2f(m - max);
        const float take = other_m == max ? 1 : exp2f(other_m - max);
        float x[8], other[8];
        load(p.acc + part.at, x);
        load(p.other_acc + part.at, other);
        SIMT_UNROLL
        for (int i = 0; i < 8; ++i)
            x[i] = fmaf(x[i], keep, other[i] * take);
        store(p.acc + part.at, x);
        if (!part.leads) return;
        p.l[part.row] = fmaf(p.l[part.row], keep, p.other_l[part.row] * take);
        p.m[part.row] = max;
    }
};

// out = acc / l; lse = ln 2 m + ln l, as m counts in powers of two. A row that saw no key gives 0
// and -inf.
template <int kHead>
struct AttentionEnd : RowKernel {
    static constexpr const char* kName = "attention_finish";
    struct Params {
        const float* acc;    // (rows, D)
        const float* m;      // (rows)
        const float* l;      // (rows)
        std::uint16_t* out;  // (rows, D) bf16
        float* lse;          // (rows)
        std::int64_t num_rows;
        int D;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        const RowPart<kHead> part(p.num_rows, p.D);
        if (!part.inside) return;
        const float l = p.l[part.row];
        float x[8];
        load(p.acc + part.at, x);
        SIMT_UNROLL
        for (float& each : x)
            each = l == 0 ? 0 : each / l;
        store(p.out + part.at, x);
        if (part.leads) p.lse[part.row] = l == 0 ? -INFINITY : fmaf(p.m[part.row], kLn2, logf(l));
    }
};

// delta = rowsum(d_out * out), in a fixed order.
template <int kHead>
struct AttentionRowSums : RowKernel {
    static constexpr const char* kName = "attention_delta";
    struct Params {
        const std::uint16_t* d_out;  // (rows, D) bf16
        const std::uint16_t* out;    // (rows, D) bf16
        float* delta;                // (rows)
        std::int64_t num_rows;
        int D;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        const RowPart<kHead> part(p.num_rows, p.D);
        float sum = 0;
        if (part.inside) {
            float d_out[8], out[8];
            load(p.d_out + part.at, d_out);
            load(p.out + part.at, out);
            SIMT_UNROLL
            for (int i = 0; i < 8; ++i)
                sum = fmaf(d_out[i], out[i], sum);
        }
        SIMT_UNROLL
        for (int mask = RowPart<kHead>::kLanes / 2; mask > 0; mask /= 2)
            sum += simt::shfl_xor(sum, mask);
        if (part.leads) p.delta[part.row] = sum;
    }
};

}  // namespace rm::device
