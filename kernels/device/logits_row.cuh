#pragma once

#include "kernels/device/reduce.h"
#include "kernels/device/vectors.h"

namespace rm::device {

// A row of f32 logits (V), which one block has.
template <int kThreads, int kWidth>
struct LogitsRow {
    static constexpr int kStep = kThreads * kWidth;  // logits the block takes at a time
    static constexpr std::int32_t kIgnore = -1;      // the target of a row without a loss
    struct Shared {
        float maxima[kThreads / 32];
        double sums[kThreads / 32];
    };
    // sum of exp(logit - max)
    struct Total {
        float max;
        double sum;
    };

    SIMT_FN static void clear(std::uint16_t* gradient, std::int64_t V) {
        const float zeros[kWidth] = {};
        for (std::int64_t v = mine(); v < V; v += kStep)
            store(gradient + v, zeros);
    }

    // Online softmax (Milakov and Gimelshein, 2018): one pass over the row.
    SIMT_FN static Total total_of(const float* logits, std::int64_t V, Shared& shared) {
        float max = -3.402823466e38f, sum = 0;
        for_each_step(logits, V, [&](std::int64_t v, const float(&x)[kWidth]) {
            if (v >= V) return;
            float higher = max;
            SIMT_UNROLL
            for (int j = 0; j < kWidth; ++j)
                higher = fmaxf(higher, x[j]);
            sum *= expf(max - higher);
            max = higher;
            SIMT_UNROLL
            for (int j = 0; j < kWidth; ++j)
                sum += expf(x[j] - max);
        });
        const float row_max = block_max<kThreads>(max, shared.maxima);
        const double scaled = static_cast<double>(sum) * static_cast<double>(expf(max - row_max));
        return {row_max, block_sum<kThreads>(scaled, shared.sums)};
    }

    // factor * exp(logit - shift), less `scale` at the target, in bf16: in the first half of the
    // row. A target that is no place in the row changes nothing. Writes over what it reads: before
    // any of a step is written, at half its address, the block has read all of it.
    SIMT_FN static void write_gradient(float* logits, std::int64_t V, float shift, float factor,
                                       std::int64_t target, float scale) {
        auto* gradient = reinterpret_cast<std::uint16_t*>(logits);
        for_each_step(logits, V, [&](std::int64_t v, const float(&x)[kWidth]) {
            float d_logits[kWidth];
            SIMT_UNROLL
            for (int j = 0; j < kWidth; ++j) {
                d_logits[j] = expf(x[j] - shift) * factor;
                if (v + j == target) d_logits[j] -= scale;  // before it is rounded: both are near
            }
            simt::sync_block();
            if (v < V) store(gradient + v, d_logits);
        });
    }

private:
    SIMT_FN static std::int64_t mine() {
        return static_cast<std::int64_t>(simt::thread()) * kWidth;
    }

    // visit(v, logits of this thread at v) for each step, in order; those of the next step are on
    // their way meanwhile. A thread beyond the end of the row is called all the same.
    template <typename Visit>
    SIMT_FN static void for_each_step(const float* logits, std::int64_t V, const Visit& visit) {
        float x[kWidth] = {}, next[kWidth] = {};
        if (mine() < V) load(logits + mine(), x);
        for (std::int64_t v = mine(); v - mine() < V; v += kStep) {
            if (v + kStep < V) load(logits + v + kStep, next);
            visit(v, x);
            SIMT_UNROLL
            for (int j = 0; j < kWidth; ++j)
                x[j] = next[j];
        }
    }
};

}  // namespace rm::device
