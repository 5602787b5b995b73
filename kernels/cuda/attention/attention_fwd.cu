#include "kernels/cuda/attention/attention_pick.h"
#include "kernels/cuda/attention/attention_queries.h"
#include "kernels/cuda/attention/attention_runs.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/attention/attention_fwd.cuh"

namespace rm::cuda {
namespace {

// Queries in order, for each the keys in order: as if it were one launch.
template <AttentionForwardShape kShape, typename Kernel>
void launch_all(const AttentionFwd& op, const Launch& where) {
    constexpr AttentionShape kTable = shape_of(kShape);
    static_assert(Kernel::kRows == kTable.rows && Kernel::kThreads == kTable.threads &&
                  sizeof(typename Kernel::Shared) <= static_cast<std::size_t>(kTable.shared.value));
    device::AttentionForwardParams params{queries_of(op), op.k.as<std::uint16_t>(),
                                          op.v.as<std::uint16_t>()};
    const auto kv_lists = run_lists("attention_fwd", op.kv_runs);
    for (const device::RunList& queries : run_lists("attention_fwd", op.q_runs)) {
        params.q_runs = queries;
        params.num_tiles = number_tiles(params.q_runs, Kernel::kRows);
        for (const device::RunList& keys : kv_lists) {
            params.kv_runs = keys;
            if (!link(params.q_runs, params.kv_runs)) continue;
            launch<Kernel>(where, {.x = params.num_tiles * params.Hq}, params);
        }
    }
}

}  // namespace

Bytes workspace_bytes(const AttentionFwd&, const MatMul&) {
    return {};
}

void run(const AttentionFwd& op, const Launch& where) {
    using enum AttentionForwardShape;
    RM_CHECK(starts_are_aligned({op.q, op.k, op.v, op.state.acc}),
             "attention_fwd: a tensor begins at an address that is no multiple of 16 bytes");
    AttentionCall call{.D = op.q.dim(2)};
    for (device::RunList& queries : run_lists("attention_fwd", op.q_runs))
        call.wide_blocks += number_tiles(queries, kWideRows) * op.q.dim(1);
    const AttentionForwardShape shape = pick_attention_fwd(call, where.profile);
    if (where.log != nullptr) where.log->choice(where.op, to_string(shape));
    switch (shape) {
        case d64_narrow:
            return launch_all<d64_narrow, device::AttentionForward<64, 4, 1>>(op, where);
        case d64_wide:
            return launch_all<d64_wide, device::AttentionForward<64, 8, 1>>(op, where);
        case d128_narrow:
            return launch_all<d128_narrow, device::AttentionForward<128, 4, 1>>(op, where);
        case d128_wide:
            return launch_all<d128_wide, device::AttentionForward<128, 8, 2>>(op, where);
    }
}

}  // namespace rm::cuda
