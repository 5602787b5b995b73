#pragma once

#include "kernels/device/numbers.h"
#include "kernels/device/quantize_source.cuh"
#include "kernels/device/reduce.h"

// The effect of rounding on a block's numbers: Fp8Effect of kernels/ops/fp8_linear.h.
namespace rm::device {

template <int kThreads>
struct Fp8EffectShared {
    static constexpr int kCounts = 4, kNumbers = 6;
    float counts[kCounts][kThreads / 32];
    double sums[kNumbers - kCounts][kThreads / 32];
};

// A thread's sums. A block has few enough numbers that a float counts them exactly.
template <typename Format>
struct Fp8EffectSums {
    float nonzero = 0, flushed = 0, saturated = 0, nonfinite = 0;
    float squares = 0, squared_error = 0;  // of numbers with one scale, before settle()
    double all_squares = 0, all_errors = 0;

    SIMT_FN static float number_of(std::uint32_t code) {
        FloatBits f;
        f.bits = (code & 0x7f) << (Format::kIsE4m3 ? 20 : 21);  // the exponent has another bias
        f.value *= Format::kIsE4m3 ? 0x1p120f : 0x1p112f;
        return f.value;
    }
    // x before it is scaled; its code is that of the lowest byte.
    SIMT_FN void add(float x, std::uint32_t code, float factor) {
        constexpr float kLargest = Format::kIsE4m3 ? 448.0f : 57344.0f;
        const bool finite = fabsf(x) < INFINITY;
        if (!finite) nonfinite += 1;
        if (!finite || x == 0) return;
        const float size = fabsf(x) * factor, counted = fminf(size, 0x1p48f);
        const float error = counted - number_of(code);
        nonzero += 1;
        if ((code & 0x7f) == 0) flushed += 1;
        if (size > kLargest) saturated += 1;
        squares = fmaf(counted, counted, squares);
        squared_error = fmaf(error, error, squared_error);
    }
    // Takes the scale of the numbers since the last call into account.
    SIMT_FN void settle(float scale) {
        const double unit = static_cast<double>(scale) * static_cast<double>(scale);
        all_squares += static_cast<double>(squares) * unit;
        all_errors += static_cast<double>(squared_error) * unit;
        squares = squared_error = 0;
    }
    // Adds the block's to `effect`. All threads come here, and wait once.
    template <int kThreads>
    SIMT_FN void merge(double* effect, Fp8EffectShared<kThreads>& shared) const {
        using Shared = Fp8EffectShared<kThreads>;
        const float counts[Shared::kCounts] = {nonzero, flushed, saturated, nonfinite};
        const double sums[2] = {all_squares, all_errors};
        SIMT_UNROLL
        for (int i = 0; i < Shared::kCounts; ++i) {
            const float sum = warp_sum(counts[i]);
            if (simt::lane() == 0) shared.counts[i][simt::warp()] = sum;
        }
        SIMT_UNROLL
        for (int i = 0; i < 2; ++i) {
            const double sum = warp_sum(sums[i]);
            if (simt::lane() == 0) shared.sums[i][simt::warp()] = sum;
        }
        simt::sync_block();
        const int i = simt::thread();
        if (i >= Shared::kNumbers) return;
        double sum = 0;
        for (int warp = 0; warp < kThreads / 32; ++warp) {
            sum += i < Shared::kCounts ? static_cast<double>(shared.counts[i][warp])
                                       : shared.sums[i - Shared::kCounts][warp];
        }
        simt::atomic_add(effect + i, sum);
    }
};

}  // namespace rm::device
