#include <algorithm>

#include "kernels/cuda/attention/attention_pick.h"
#include "kernels/cuda/attention/attention_queries.h"
#include "kernels/cuda/attention/attention_runs.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/attention/attention_fwd_8bit.cuh"
#include "kernels/device/attention/attention_round_keys.cuh"

namespace rm::cuda {
namespace {

constexpr std::string_view kOp = AttentionFwd8::kName;

// So many blocks of keys are rounded at a time: 8,192 keys and more are worth reading the queries'
// state once more, and the workspace does not grow with the keys.
constexpr std::int64_t kMaxBlocks = 128;

template <int kHead>
void round_keys(const AttentionFwd8& op, const device::RunList& keys, int num_blocks,
                device::KeyBlock<kHead>* blocks, const Launch& where) {
    const auto Hk = static_cast<int>(op.k.dim(1));
    const typename device::AttentionRoundKeys<kHead>::Params params{
        .k = op.k.as<std::uint16_t>(),
        .v = op.v.as<std::uint16_t>(),
        .blocks = blocks,
        .Hk = Hk,
        .D = static_cast<int>(op.k.dim(2)),
        .kv_runs = keys};
    launch<device::AttentionRoundKeys<kHead>>(where, {.x = num_blocks * Hk}, params);
}

// Keys in order, for each the queries. A query meets the keys as if it were one launch.
template <AttentionForward8Shape kShape, int kHead, int kWarps>
void launch_all(const AttentionFwd8& op, const Launch& where) {
    using Kernel = device::AttentionForward8<kHead, kWarps>;
    constexpr AttentionShape kTable = shape_of(kShape);
    static_assert(Kernel::kRows == kTable.rows && Kernel::kThreads == kTable.threads &&
                  sizeof(typename Kernel::Shared) <= static_cast<std::size_t>(kTable.shared.value));
    auto* blocks = static_cast<device::KeyBlock<kHead>*>(where.workspace.data);
    device::AttentionForward8Params<kHead> params{queries_of(op), blocks};
    const auto q_lists = run_lists(kOp, op.q_runs);
    for (device::RunList& keys : tile_lists(kOp, op.kv_runs, device::kBlockKeys, kMaxBlocks)) {
        const int num_blocks = number_tiles(keys, device::kBlockKeys);
        bool rounded = false;
        for (const device::RunList& queries : q_lists) {
            params.q_runs = queries;
            params.num_tiles = number_tiles(params.q_runs, Kernel::kRows);
            params.kv_runs = keys;
            if (!link(params.q_runs, params.kv_runs)) continue;
            if (!rounded) round_keys(op, keys, num_blocks, blocks, where);
            rounded = true;
            launch<Kernel>(where, {.x = params.num_tiles * params.Hq}, params);
        }
    }
}

}  // namespace

// Runs may be as short as one token, and each begins a block.
Bytes workspace_bytes(const AttentionFwd8& op, const MatMul&) {
    const std::int64_t size = head_columns(kOp, op.k.dim(2)) == 64 ? sizeof(device::KeyBlock<64>)
                                                                   : sizeof(device::KeyBlock<128>);
    return {std::min(op.k.dim(0), kMaxBlocks) * op.k.dim(1) * size};
}

void run(const AttentionFwd8& op, const Launch& where) {
    using enum AttentionForward8Shape;
    RM_CHECK(starts_are_aligned({op.q, op.k, op.v, op.state.acc}),
             "{}: a tensor begins at an address that is no multiple of 16 bytes", kOp);
    AttentionCall call{.D = op.q.dim(2)};
    for (device::RunList& queries : run_lists(kOp, op.q_runs))
        call.wide_blocks += number_tiles(queries, kWideRows) * op.q.dim(1);
    const AttentionForward8Shape shape = pick_attention_fwd_8bit(call, where.profile);
    if (where.log != nullptr) where.log->choice(where.op, to_string(shape));
    switch (shape) {
        case d64:
            return launch_all<d64, 64, 4>(op, where);
        case d128_narrow:
            return launch_all<d128_narrow, 128, 4>(op, where);
        case d128_wide:
            return launch_all<d128_wide, 128, 8>(op, where);
    }
}

}  // namespace rm::cuda
