#pragma once

#include "kernels/device/reduce.h"
#include "kernels/device/vectors.h"

// Cross entropy of rows of f32 logits, and their gradient in bf16, in the same memory.
namespace rm::device {

constexpr std::int32_t kIgnore = -1;  // the target of a row without a loss

// A row of f32 logits (V), which one block has: the base of the kernels over such rows.
template <int kWidth>
struct LogitsRow {
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    static constexpr int kStep = kThreads * kWidth;  // logits the block takes at a time
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

struct CrossEntropyParams {
    float* logits;                // (rows, V); with gradients, the first half of each row
                                  // becomes its gradient (V) in bf16
    const std::int32_t* targets;  // (rows)
    double* losses;               // (rows), out
    std::int64_t V;
    float scale;  // of the gradients
    bool gradients;
};

// One block per row. A target outside the vocabulary other than kIgnore gives NaN, in the loss and
// in the row's gradient, so that the step is seen to be broken and is not taken.
template <int kWidth>
struct CrossEntropy : LogitsRow<kWidth> {
    static constexpr const char* kName = kWidth == 1 ? "cross_entropy_unaligned" : "cross_entropy";
    using Row = LogitsRow<kWidth>;
    using Params = CrossEntropyParams;

    SIMT_FN static void run(const Params& p, typename Row::Shared& shared) {
        const std::int64_t row = simt::block_x();
        float* logits = p.logits + row * p.V;
        const std::int32_t target = p.targets[row];
        if (target == kIgnore) {
            if (simt::thread() == 0) p.losses[row] = 0;
            if (p.gradients) Row::clear(reinterpret_cast<std::uint16_t*>(logits), p.V);
            return;
        }
        const bool known = target >= 0 && target < p.V;
        const float target_logit = known ? logits[target] : not_a_number();
        const auto total = Row::total_of(logits, p.V, shared);
        if (simt::thread() == 0)
            p.losses[row] = log(total.sum) + static_cast<double>(total.max) - target_logit;
        if (!p.gradients) return;
        const float factor = known ? static_cast<float>(p.scale / total.sum) : not_a_number();
        Row::write_gradient(logits, p.V, total.max, factor, target, p.scale);
    }
};

// loss_sum += the losses, in order of groups of kGroup: cutting the rows at multiples of that
// changes no bit. One block.
struct AddLosses {
    static constexpr const char* kName = "add_losses";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 1;
    static constexpr int kGroup = 64;
    static constexpr int kMaxRows = 64 * kGroup;
    struct Shared {
        double sums[kMaxRows / kGroup];
    };

    struct Params {
        const double* losses;  // (rows), at most kMaxRows
        int rows;
        double* loss_sum;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        for (int group = simt::warp(); group * kGroup < p.rows; group += kThreads / 32) {
            const int row = group * kGroup + simt::lane();
            const double low = row < p.rows ? p.losses[row] : 0;
            const double high = row + 32 < p.rows ? p.losses[row + 32] : 0;
            const double group_sum = warp_sum(low + high);
            if (simt::lane() == 0) shared.sums[group] = group_sum;
        }
        simt::sync_block();
        if (simt::thread() != 0) return;
        double total = *p.loss_sum;
        for (int group = 0; group * kGroup < p.rows; ++group)
            total += shared.sums[group];
        *p.loss_sum = total;
    }
};

}  // namespace rm::device
