#pragma once

#include "bench/kernels/attention8_exact.h"
#include "kernels/kernels.h"

namespace rm::bench {

// As the forward and the backward pass multiply.
struct AttentionPasses {
    AttentionProducts forward = AttentionProducts::compute;
    AttentionProducts backward = AttentionProducts::compute;
};
struct AttentionOnCpu {
    AttentionResult result;
    std::vector<double> d_q, d_k, d_v;  // (T, D), (S, D), (S, D)
};
// On kernels whose memory the host sees and which compute in bf16.
AttentionOnCpu on_cpu(Kernels& kernels, const AttentionInput& input, AttentionPasses passes);

}  // namespace rm::bench
