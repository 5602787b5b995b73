#include "kernels/cuda/attention/attention_pick.h"
#include "kernels/cuda/attention/attention_runs.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/attention/attention_bwd_kv.cuh"
#include "kernels/device/attention/attention_bwd_q.cuh"

namespace rm::cuda {
namespace {

using device::QueryGradient;

device::AttentionBackwardParams params_of(const AttentionBwd& op) {
    const auto Hq = static_cast<int>(op.q.dim(1)), Hk = static_cast<int>(op.k.dim(1));
    const auto scale = static_cast<float>(op.scale);
    return {.q = op.q.as<std::uint16_t>(),
            .k = op.k.as<std::uint16_t>(),
            .v = op.v.as<std::uint16_t>(),
            .d_out = op.d_out.as<std::uint16_t>(),
            .lse = op.lse.as<float>(),
            .delta = op.delta.as<float>(),
            .d_q = op.d_q.as<float>(),
            .d_k = op.d_k.as<float>(),
            .d_v = op.d_v.as<float>(),
            .Hq = Hq,
            .Hk = Hk,
            .D = static_cast<int>(op.q.dim(2)),
            .group = Hq / Hk,
            .scale = scale,
            .scale_log2 = scale * device::kLog2E};
}

// visit(params) for every pair of run lists that see each other: queries in order and for each the
// keys in order, so that both sides are summed in order, as if it were one launch.
template <typename Visit>
void each_pair_of_lists(const AttentionBwd& op, const Visit& visit) {
    device::AttentionBackwardParams params = params_of(op);
    const auto kv_lists = run_lists("attention_bwd", op.kv_runs);
    for (const device::RunList& queries : run_lists("attention_bwd", op.q_runs)) {
        for (const device::RunList& keys : kv_lists) {
            params.q_runs = queries;
            params.kv_runs = keys;
            if (link(params.q_runs, params.kv_runs)) visit(params);
        }
    }
}

template <AttentionBackwardShape kShape, typename Kernel>
void launch_keys(device::AttentionBackwardParams params, const Launch& where) {
    constexpr AttentionShape kTable = shape_of(kShape);
    static_assert(Kernel::kRows == kTable.rows && Kernel::kThreads == kTable.threads &&
                  sizeof(typename Kernel::Shared) <= static_cast<std::size_t>(kTable.shared.value));
    params.num_tiles = number_tiles(params.kv_runs, Kernel::kRows);
    launch<Kernel>(where, {.x = params.num_tiles * params.Hk}, params);
}
template <typename Kernel>
void launch_queries(device::AttentionBackwardParams params, const Launch& where) {
    params.num_tiles = number_tiles(params.q_runs, Kernel::kRows);
    launch<Kernel>(where, {.x = params.num_tiles * params.Hq}, params);
}

template <AttentionBackwardShape kShape, int kHead, int kWarps, QueryGradient kQueryGradient>
void run_shape(const AttentionBwd& op, const Launch& where) {
    using Keys = device::AttentionBackwardKeys<kHead, kWarps, kQueryGradient>;
    each_pair_of_lists(op, [&](const device::AttentionBackwardParams& params) {
        launch_keys<kShape, Keys>(params, where);
        if constexpr (kQueryGradient == QueryGradient::elsewhere)
            launch_queries<device::AttentionBackwardQueries<kHead, kWarps>>(params, where);
    });
}

}  // namespace

Bytes workspace_bytes(const AttentionBwd&, const MatMul&) {
    return {};
}

void run(const AttentionBwd& op, const Launch& where) {
    using enum AttentionBackwardShape;
    using enum QueryGradient;
    RM_CHECK(starts_are_aligned({op.q, op.k, op.v, op.d_out, op.d_q, op.d_k, op.d_v}),
             "attention_bwd: a tensor begins at an address that is no multiple of 16 bytes");
    const AttentionBackwardShape shape =
        pick_attention_bwd({.D = op.q.dim(2)}, where.reproducible, where.profile);
    if (where.log != nullptr) where.log->choice(where.op, to_string(shape));
    switch (shape) {
        case d64_ordered:
            return run_shape<d64_ordered, 64, 4, elsewhere>(op, where);
        case d64_atomic:
            return run_shape<d64_atomic, 64, 8, by_atomics>(op, where);
        case d128_ordered:
            return run_shape<d128_ordered, 128, 8, elsewhere>(op, where);
        case d128_atomic:
            return run_shape<d128_atomic, 128, 8, by_atomics>(op, where);
    }
}

}  // namespace rm::cuda
