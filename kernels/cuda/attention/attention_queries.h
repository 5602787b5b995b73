#pragma once

#include "kernels/device/attention/attention_forward_rows.cuh"
#include "kernels/ops/attention.h"

namespace rm::cuda {

// The parameters of an op of attention forward but for its keys and runs.
template <typename Op>
device::AttentionQueries queries_of(const Op& op) {
    const auto Hq = static_cast<int>(op.q.dim(1)), Hk = static_cast<int>(op.k.dim(1));
    return {.q = op.q.template as<std::uint16_t>(),
            .acc = op.state.acc.template as<float>(),
            .m = op.state.m.template as<float>(),
            .l = op.state.l.template as<float>(),
            .Hq = Hq,
            .Hk = Hk,
            .D = static_cast<int>(op.q.dim(2)),
            .group = Hq / Hk,
            .scale_log2 = static_cast<float>(op.scale) * device::kLog2E};
}

}  // namespace rm::cuda
