#include <algorithm>

#include "kernels/cuda/attention/attention_pick.h"
#include "kernels/cuda/attention/attention_runs.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/pick.h"
#include "kernels/device/attention/attention_bwd_kv.cuh"
#include "kernels/device/attention/attention_bwd_q.cuh"
#include "kernels/device/attention/attention_round_numbers.cuh"

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

// visit(params) for every pair of run lists that see each other, so that both sides are summed in
// order, as if it were one launch.
class PairsOfLists {
public:
    explicit PairsOfLists(const AttentionBwd& op) : op_(op) {}

    template <typename Visit>
    void each(const Visit& visit) const {
        device::AttentionBackwardParams params = params_of(op_);
        const auto kv_lists = run_lists("attention_bwd", op_.kv_runs);
        for (const device::RunList& queries : run_lists("attention_bwd", op_.q_runs)) {
            for (const device::RunList& keys : kv_lists) {
                params.q_runs = queries;
                params.kv_runs = keys;
                if (link(params.q_runs, params.kv_runs)) visit(params);
            }
        }
    }

private:
    const AttentionBwd& op_;
};

// Likewise on rounded queries, keys and values. The workspace has so many tokens of them, however
// long the sides are: rounding queries once more for 8,192 keys is next to nothing.
constexpr int kRoundedQueries = 4096, kRoundedKeys = 8192;
constexpr int kCut = 128;  // tokens; every shape has tiles of a divisor of that

int first_token(const device::RunList& list) {
    return list.runs[0].token;
}
int end_token(const device::RunList& list) {
    const device::TokenRun& last = list.runs[list.count - 1];
    return last.token + last.length;
}

// (tokens, heads, D) bf16, which begins with any token of a tensor.
class RoundedRows {
public:
    RoundedRows(const TensorView& like, int max_tokens, Workspace workspace, Bytes at)
        : row_(like.dim(1) * like.dim(2)),
          size_{ceil_div(std::min<std::int64_t>(like.dim(0), max_tokens) * row_ * 2, 64) * 64},
          data_(reinterpret_cast<std::uint16_t*>(static_cast<std::byte*>(workspace.data) +
                                                 at.value)) {}
    Bytes size() const { return size_; }
    // Where token 0 of the tensor would lie.
    std::uint16_t* from(int first_token) const { return data_ - first_token * row_; }

private:
    std::int64_t row_;
    Bytes size_;
    std::uint16_t* data_;
};
struct RoundedOperands {
    RoundedOperands(const AttentionBwd8& op, Workspace workspace)
        : q(op.q, kRoundedQueries, workspace, {}),
          k(op.k, kRoundedKeys, workspace, q.size()),
          v(op.v, kRoundedKeys, workspace, q.size() + k.size()) {}
    Bytes size() const { return q.size() + k.size() + v.size(); }

    RoundedRows q, k, v;
};

class RoundedPairs {
public:
    RoundedPairs(const AttentionBwd8& op, const Launch& where)
        : op_(op), where_(where), rounded_(op, where.workspace) {}

    template <typename Visit>
    void each(const Visit& visit) const {
        device::AttentionBackwardParams params = params_of(on_rounded(op_, op_.q, op_.k, op_.v));
        const auto q_lists = span_lists(AttentionBwd8::kName, op_.q_runs, kCut, kRoundedQueries);
        for (const device::RunList& keys :
             span_lists(AttentionBwd8::kName, op_.kv_runs, kCut, kRoundedKeys)) {
            params.k = rounded_.k.from(first_token(keys));
            params.v = rounded_.v.from(first_token(keys));
            bool rounded = false;
            for (const device::RunList& queries : q_lists) {
                params.q_runs = queries;
                params.kv_runs = keys;
                if (!link(params.q_runs, params.kv_runs)) continue;
                if (!rounded) round_keys(keys);
                rounded = true;
                params.q = round_queries(queries);
                visit(params);
            }
        }
    }

private:
    void round_keys(const device::RunList& keys) const {
        if (head_columns(AttentionBwd8::kName, op_.k.dim(2)) == 64) return launch_round<64>(keys);
        launch_round<128>(keys);
    }
    template <int kHead>
    void launch_round(const device::RunList& keys) const {
        const auto Hk = static_cast<int>(op_.k.dim(1));
        typename device::AttentionRoundNumbers<kHead>::Params params{
            .k = op_.k.as<std::uint16_t>(),
            .v = op_.v.as<std::uint16_t>(),
            .rounded_k = rounded_.k.from(first_token(keys)),
            .rounded_v = rounded_.v.from(first_token(keys)),
            .Hk = Hk,
            .D = static_cast<int>(op_.k.dim(2)),
            .kv_runs = keys};
        const int num_blocks = number_tiles(params.kv_runs, device::kBlockKeys);
        launch<device::AttentionRoundNumbers<kHead>>(where_, {.x = num_blocks * Hk}, params);
    }
    const std::uint16_t* round_queries(const device::RunList& queries) const {
        const std::int64_t Hq = op_.q.dim(1), D = op_.q.dim(2);
        const int first = first_token(queries);
        const auto rows = static_cast<int>((end_token(queries) - first) * Hq);
        std::uint16_t* to = rounded_.q.from(first);
        const std::int64_t at = first * Hq * D;
        using Kernel = device::AttentionRoundQueries;
        launch<Kernel>(where_, one_block_each(ceil_div(rows, Kernel::kRows)),
                       {.q = op_.q.as<std::uint16_t>() + at,
                        .rounded = to + at,
                        .rows = rows,
                        .D = static_cast<int>(D)});
        return to;
    }

    const AttentionBwd8& op_;
    const Launch& where_;
    const RoundedOperands rounded_;
};

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
void run_shape(const auto& pairs, const Launch& where) {
    using Keys = device::AttentionBackwardKeys<kHead, kWarps, kQueryGradient>;
    pairs.each([&](const device::AttentionBackwardParams& params) {
        launch_keys<kShape, Keys>(params, where);
        if constexpr (kQueryGradient == QueryGradient::elsewhere)
            launch_queries<device::AttentionBackwardQueries<kHead, kWarps>>(params, where);
    });
}

template <typename Op>
void run_pairs(const Op& op, const auto& pairs, const Launch& where) {
    using enum AttentionBackwardShape;
    using enum QueryGradient;
    RM_CHECK(starts_are_aligned({op.q, op.k, op.v, op.d_out, op.d_q, op.d_k, op.d_v}),
             "{}: a tensor begins at an address that is no multiple of 16 bytes", Op::kName);
    const AttentionBackwardShape shape =
        pick_attention_bwd({.D = op.q.dim(2)}, where.reproducible, where.profile);
    if (where.log != nullptr) where.log->choice(where.op, to_string(shape));
    switch (shape) {
        case d64_ordered:
            return run_shape<d64_ordered, 64, 4, elsewhere>(pairs, where);
        case d64_atomic:
            return run_shape<d64_atomic, 64, 8, by_atomics>(pairs, where);
        case d128_ordered:
            return run_shape<d128_ordered, 128, 8, elsewhere>(pairs, where);
        case d128_atomic:
            return run_shape<d128_atomic, 128, 8, by_atomics>(pairs, where);
    }
}

}  // namespace

Bytes workspace_bytes(const AttentionBwd&, const MatMul&) {
    return {};
}
Bytes workspace_bytes(const AttentionBwd8& op, const MatMul&) {
    return RoundedOperands(op, {}).size();
}

void run(const AttentionBwd& op, const Launch& where) {
    run_pairs(op, PairsOfLists(op), where);
}
void run(const AttentionBwd8& op, const Launch& where) {
    run_pairs(op, RoundedPairs(op, where), where);
}

}  // namespace rm::cuda
