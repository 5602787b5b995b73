#pragma once

#include "kernels/device/cross_entropy.cuh"

// Cross entropy whose vocabulary is cut over ranks: what a rank knows of its own rows of the head,
// how that of all ranks becomes the loss, and the gradient of a rank's logits. A target outside the
// whole vocabulary makes all of it NaN.
namespace rm::device {

// The part of the vocabulary that the logits cover.
struct HeadPart {
    std::int64_t V;      // logits of a row
    std::int64_t first;  // their place in the vocabulary
    std::int64_t total;  // of the vocabulary

    SIMT_FN bool knows(std::int32_t target) const { return target >= 0 && target < total; }
};

struct HeadStatisticsParams {
    const float* logits;          // (rows, V)
    const std::int32_t* targets;  // (rows)
    double* statistics;           // (rows, 3), out: max, sum, target logit
    HeadPart part;
};
// One block per row.
template <int kWidth>
struct HeadStatisticsOfRows : LogitsRow<kWidth> {
    static constexpr const char* kName =
        kWidth == 1 ? "head_statistics_unaligned" : "head_statistics";
    using Row = LogitsRow<kWidth>;
    using Params = HeadStatisticsParams;

    SIMT_FN static void run(const Params& p, typename Row::Shared& shared) {
        const std::int64_t row = simt::block_x();
        const float* logits = p.logits + row * p.part.V;
        double* out = p.statistics + 3 * row;
        const std::int32_t target = p.targets[row];
        if (target == kIgnore) {
            if (simt::thread() < 3) out[simt::thread()] = 0;
            return;
        }
        const auto total = Row::total_of(logits, p.part.V, shared);
        if (simt::thread() != 0) return;
        out[0] = total.max;
        out[1] = total.sum;
        out[2] = target_logit(p, logits, target);
    }

private:
    SIMT_FN static float target_logit(const Params& p, const float* logits, std::int32_t target) {
        if (!p.part.knows(target)) return not_a_number();
        const std::int64_t at = target - p.part.first;
        return at >= 0 && at < p.part.V ? logits[at] : 0;
    }
};

struct HeadGradientParams {
    float* logits;                // (rows, V); the first half of each row becomes its gradient
    const std::int32_t* targets;  // (rows)
    const double* lse;            // (rows)
    HeadPart part;
    float scale;
};
// One block per row.
template <int kWidth>
struct HeadGradientOfRows : PlainKernel<256, 4> {
    static constexpr const char* kName = kWidth == 1 ? "head_gradient_unaligned" : "head_gradient";
    using Row = LogitsRow<kWidth>;
    using Params = HeadGradientParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        const std::int64_t row = simt::block_x();
        float* logits = p.logits + row * p.part.V;
        const std::int32_t target = p.targets[row];
        if (target == kIgnore)
            return Row::clear(reinterpret_cast<std::uint16_t*>(logits), p.part.V);
        // exp(logit - lse) in two factors: lse in f32 is off by as much as a logit is.
        const auto shift = static_cast<float>(p.lse[row]);
        const auto rest = static_cast<float>(static_cast<double>(shift) - p.lse[row]);
        const float factor = p.part.knows(target) ? p.scale * expf(rest) : not_a_number();
        Row::write_gradient(logits, p.part.V, shift, factor, target - p.part.first, p.scale);
    }
};

// The statistics of all ranks, for T tokens, and what they give: lse and lse - target logit.
struct HeadPartsParams {
    const double* parts;          // (G, T, 3)
    const std::int32_t* targets;  // (T)
    double* lse;                  // (T), out
    double* losses;               // (T), out
    std::int64_t tokens;
    int num_parts;
    std::int64_t step;  // from a part to the next
};

struct HeadLosses : PlainKernel<128, 4> {
    static constexpr const char* kName = "head_losses";
    using Params = HeadPartsParams;

    SIMT_FN static void run(const Params& p, Shared&) {
        for_each<kThreads>(p.tokens, [&](std::int64_t t) {
            const bool ignored = p.targets[t] == kIgnore;
            const double* token = p.parts + 3 * t;
            const double lse = ignored ? 0 : lse_of(p, token);
            p.lse[t] = lse;
            p.losses[t] = ignored ? 0 : lse - target_logit(p, token);
        });
    }

private:
    SIMT_FN static double lse_of(const Params& p, const double* token) {
        double max = token[0], sum = 0;
        for (int g = 1; g < p.num_parts; ++g)
            max = fmax(max, token[g * p.step]);
        for (int g = 0; g < p.num_parts; ++g)
            sum += token[g * p.step + 1] * exp(token[g * p.step] - max);
        return log(sum) + max;
    }
    SIMT_FN static double target_logit(const Params& p, const double* token) {
        double logit = 0;
        for (int g = 0; g < p.num_parts; ++g)
            logit += token[g * p.step + 2];
        return logit;
    }
};

}  // namespace rm::device
