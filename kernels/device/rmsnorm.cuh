#pragma once

#include "kernels/device/numbers.h"
#include "kernels/device/reduce.h"

// RMSNorm (Zhang and Sennrich, 2019), forward: y = x / sqrt(mean(x^2) + eps) * weight, one block
// per token.
namespace rm::device {

struct RmsNormForward {
    static constexpr const char* kName = "rmsnorm_fwd";
    static constexpr int kThreads = 256;
    static constexpr int kMinBlocks = 4;
    struct Shared {
        float sums[kThreads / 32];
    };
    struct Params {
        const std::uint16_t* x;  // (T, C) bf16
        const float* weight;     // (C)
        std::uint16_t* y;        // (T, C) bf16
        float* rstd;             // (T)
        int C;
        float eps;
    };

    SIMT_FN static void run(const Params& p, Shared& shared) {
        const std::int64_t row = static_cast<std::int64_t>(simt::block_x()) * p.C;
        float squares = 0;
        for (int c = simt::thread(); c < p.C; c += kThreads) {
            const float x = from_bf16(p.x[row + c]);
            squares += x * x;
        }
        const float mean = block_sum<kThreads>(squares, shared.sums) / static_cast<float>(p.C);
        const float rstd = 1 / sqrtf(mean + p.eps);
        if (simt::thread() == 0) p.rstd[simt::block_x()] = rstd;
        for (int c = simt::thread(); c < p.C; c += kThreads)
            p.y[row + c] = to_bf16(from_bf16(p.x[row + c]) * rstd * p.weight[c]);
    }
};

}  // namespace rm::device
