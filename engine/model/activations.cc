#include "engine/model/activations.h"

#include <algorithm>

namespace rm {

bool keeps_attended(const MemoryPolicy& policy) {
    return policy.alpha == 1 && working_place(policy) == kept_place(policy);
}

bool copies_out(const MemoryPolicy& policy) {
    return policy.keep == Keep::input_and_attention && working_place(policy) != kept_place(policy);
}

LayerKept::LayerKept(StepMemory& memory, const RankLayout& layout, const RankShapes& s, int layer) {
    const auto make = [&](std::string_view what, std::initializer_list<std::int64_t> shape) {
        return kept_store(memory, {what, layer}, memory.types().compute, shape);
    };
    const std::int64_t rows = layout.kept.total;
    if (copies_out(memory.policy())) out = make("kept out", {s.T, s.Hq, s.D});
    if (rows == 0) return;
    x_mid = make("kept x_mid", {layout.kept_shards.total, s.C});
    gate = make("kept gate", {rows, s.F});
    up = make("kept up", {rows, s.F});
    if (keeps_attended(memory.policy())) return;
    tiles.q = make("kept q", {rows, s.Hq, s.D});
    tiles.kv.k = make("kept k", {rows, s.Hk, s.D});
    tiles.kv.v = make("kept v", {rows, s.Hk, s.D});
}

TileScratch::TileScratch(Kernels& kernels, const RankShapes& s, const RankLayout& layout,
                         bool exchanges_heads, const LinearPrecision& precision) {
    const auto make = [&](DType type, std::initializer_list<std::int64_t> shape) {
        return Tensor(kernels.device(), MemoryKind::activations, type, shape);
    };
    const auto [compute, accum, master] = kernels.types();
    const std::int64_t shard = s.tile / layout.tensor;
    if (rounds_inputs(layout.memory, compute)) x = make(compute, {shard, s.C});
    x_mid = make(compute, {shard, s.C});
    rstd = make(accum, {shard});
    for (Tensor* features : {&gate, &up, &h, &d_h, &d_up})
        *features = make(compute, {s.tile, s.F});
    d_q = make(compute, {s.tile, s.Hq, s.D});
    d_k = make(compute, {s.tile, s.Hk, s.D});
    d_v = make(compute, {s.tile, s.Hk, s.D});
    if (precision.fp8) {
        const std::int64_t widest = std::max({s.C, s.F, s.Hq * s.D});
        const WeightForm form = precision.fp8_form();
        taken = Fp8Scratch(kernels.device(), s.tile, widest, Fp8::e4m3, form);
        gradient = Fp8Scratch(kernels.device(), s.tile, widest, precision.gradients, form);
    }
    if (!exchanges_heads) return;
    for (Tensor* queries : {&q, &out, &d_out})
        *queries = make(compute, {s.tile, s.Hq, s.D});
    for (Tensor* keys : {&k, &v})
        *keys = make(compute, {s.tile, s.Hk, s.D});
    delta = make(accum, {s.tile, s.Hq});
    for (Tensor* sums : {&d_k_sum, &d_v_sum})
        *sums = make(accum, {s.tile, s.Hk, s.D});
}

std::vector<TileScratch> make_lanes(Kernels& kernels, const RankShapes& shapes,
                                    const RankLayout& layout, bool exchanges_heads,
                                    const LinearPrecision& precision) {
    std::vector<TileScratch> lanes;
    for (int lane = 0; lane < layout.lanes(); ++lane)
        lanes.emplace_back(kernels, shapes, layout, exchanges_heads, precision);
    return lanes;
}

}  // namespace rm
