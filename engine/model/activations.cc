#include "engine/model/activations.h"

namespace rm {

LayerActivations::LayerActivations(Kernels& kernels, const ModelConfig& model, std::int64_t T) {
    const auto make = [&](DType dtype, std::initializer_list<std::int64_t> shape) {
        return Tensor(kernels.device(), MemoryKind::activations, dtype, shape);
    };
    const auto [compute, accum, master] = kernels.types();
    const std::int64_t C = model.hidden;
    const std::int64_t Hq = model.num_query_heads;
    const std::int64_t D = model.head_dim;
    x = make(compute, {T, C});
    rstd = make(accum, {T});
    q = make(compute, {T, Hq, D});
    kv = make(compute, {2 * T, model.num_kv_heads, D});
    out = make(compute, {T, Hq, D});
    lse = make(accum, {T, Hq});
    x_mid = make(compute, {T, C});
    rstd_mid = make(accum, {T});
    gate = make(compute, {T, model.feed_forward});
    up = make(compute, {T, model.feed_forward});
}

Scratch::Scratch(Kernels& kernels, const ModelConfig& model, const RankLayout& layout) {
    const auto make = [&](DType dtype, std::initializer_list<std::int64_t> shape) {
        return Tensor(kernels.device(), MemoryKind::activations, dtype, shape);
    };
    const auto [compute, accum, master] = kernels.types();
    const std::int64_t T = layout.local_tokens;
    const std::int64_t tile = layout.max_tile;
    const std::int64_t C = model.hidden;
    const std::int64_t F = model.feed_forward;
    const std::int64_t Hq = model.num_query_heads;
    const std::int64_t Hk = model.num_kv_heads;
    const std::int64_t D = model.head_dim;
    acc = make(accum, {T, Hq, D});
    m = make(accum, {T, Hq});
    l = make(accum, {T, Hq});
    d_x = make(compute, {T, C});
    d_out = make(compute, {T, Hq, D});
    delta = make(accum, {T, Hq});
    d_q = make(accum, {T, Hq, D});
    rstd = make(accum, {tile});
    normed = make(compute, {tile, C});
    d_normed = make(compute, {tile, C});
    h = make(compute, {tile, F});
    d_h = make(compute, {tile, F});
    d_up = make(compute, {tile, F});
    d_q_tile = make(compute, {tile, Hq, D});
    d_k_tile = make(compute, {tile, Hk, D});
    d_v_tile = make(compute, {tile, Hk, D});
}

}  // namespace rm
