#pragma once

#include "kernels/device/attention_state.cuh"

// Merges normalised results of attention over some keys, out and its lse, into the running state:
// for libraries that return no state. Weighing a normalised result rounds differently from summing
// its parts, so cutting the keys of such a call does change bits.
namespace rm::device {

template <int kHead>
struct AttentionMergeRows {
    static constexpr const char* kName = "attention_merge";
    static constexpr int kThreads = RowPart<kHead>::kThreads;
    static constexpr int kMinBlocks = 4;
    struct Shared {};
    struct Params {
        const std::uint16_t* out;  // (rows, D) bf16
        const float* lse;          // (rows) natural log, -inf where the row saw no key
        float* acc;                // (rows, D)
        float* m;                  // (rows)
        float* l;                  // (rows)
        std::int64_t num_rows;
        int D;
    };

    SIMT_FN static void run(const Params& p, Shared&) {
        const RowPart<kHead> part(p.num_rows, p.D);
        const float before = part.in_row ? p.m[part.row] : -INFINITY;
        const float sum = part.in_row ? p.l[part.row] : 0;
        const float other = part.in_row ? p.lse[part.row] * kLog2OfE : -INFINITY;
        simt::sync_warp();  // all lanes of a row have read its state before one changes it
        if (other == -INFINITY) return;
        const float m = fmaxf(before, other);
        const float keep = simt::exp2(before - m), weight = simt::exp2(other - m);
        if (part.inside) {
            float acc[8], out[8];
            load(p.acc + part.at, acc);
            load(p.out + part.at, out);
            SIMT_UNROLL
            for (int i = 0; i < 8; ++i)
                acc[i] = fmaf(out[i], weight, acc[i] * keep);
            store(p.acc + part.at, acc);
        }
        if (!part.leads) return;
        p.m[part.row] = m;
        p.l[part.row] = fmaf(sum, keep, weight);
    }
};

}  // namespace rm::device
