#pragma once

#include "kernels/device/logits_row.cuh"

// Cross entropy of rows of f32 logits, and their gradient in bf16, in the same memory.
namespace rm::device {

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
struct CrossEntropy {
    static constexpr const char* kName = kWidth == 1 ? "cross_entropy_unaligned" : "cross_entropy";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    using Row = LogitsRow<kThreads, kWidth>;
    using Shared = typename Row::Shared;
    using Params = CrossEntropyParams;

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const std::int64_t row = simt::block_x();
        float* logits = p.logits + row * p.V;
        const std::int32_t target = p.targets[row];
        if (target == Row::kIgnore) {
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

// Sums over rows, in order of groups of kGroup: cutting the rows at multiples of that changes no
// bit. One block.
struct SumOfRows {
    static constexpr int kThreads = 256;
    static constexpr int kGroup = 64;
    static constexpr int kMaxRows = 64 * kGroup;
    struct Shared {
        double sums[kMaxRows / kGroup];
    };

    // sum += value(row) of all rows.
    template <typename Value>
    SIMT_FN static void add(int rows, double* sum, Shared& shared, const Value& value) {
        for (int group = simt::warp(); group * kGroup < rows; group += kThreads / 32) {
            const int row = group * kGroup + simt::lane();
            const double low = row < rows ? value(row) : 0;
            const double high = row + 32 < rows ? value(row + 32) : 0;
            const double group_sum = warp_sum(low + high);
            if (simt::lane() == 0) shared.sums[group] = group_sum;
        }
        simt::sync_block();
        if (simt::thread() != 0) return;
        double total = *sum;
        for (int group = 0; group * kGroup < rows; ++group)
            total += shared.sums[group];
        *sum = total;
    }
};

// loss_sum += the losses
struct AddLosses {
    static constexpr const char* kName = "add_losses";
    static constexpr int kThreads = SumOfRows::kThreads;
    static constexpr int kMinBlocks = 1;
    using Shared = SumOfRows::Shared;
    struct Params {
        const double* losses;  // (rows), at most SumOfRows::kMaxRows
        int rows;
        double* loss_sum;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        SumOfRows::add(p.rows, p.loss_sum, shared, [&](int row) { return p.losses[row]; });
    }
};

}  // namespace rm::device
