#include <cmath>

#include "tests/kernels/op_cases.h"

namespace rm::test {
namespace {

void rope(Harness& h, Rotation rotation, std::int64_t D, double scale) {
    const std::vector<Run> runs = {{0, 0, 20}, {1, 4'000'000, 13}, {kPaddingDocument, 7, 5}};
    std::vector<double> inv_freq;
    for (std::int64_t i = 0; i < D / 2; ++i) {
        inv_freq.push_back(
            std::pow(500'000.0, -2.0 * static_cast<double>(i) / static_cast<double>(D)));
    }
    const std::int64_t T = num_tokens(runs);
    const RopeTable table{.runs = runs,
                          .inv_freq = inv_freq,
                          .scale = scale,
                          .cos = h.output(Role::accum, {T, D / 2}),
                          .sin = h.output(Role::accum, {T, D / 2})};
    h.kernels().run(table, h.stream());
    const RopeApply apply{.x = h.input(Role::compute, {T, 3, D}),
                          .cos = table.cos,
                          .sin = table.sin,
                          .rotation = rotation};
    h.kernels().run(apply, h.stream());
    h.stream().synchronize();  // the table borrows runs and frequencies of this frame
    h.keep("cos", table.cos);
    h.keep("sin", table.sin);
    h.keep("x", apply.x);
}

enum class Alias { none, d_gate_is_d_h };

void swiglu(Harness& h, std::int64_t T, std::int64_t F, Alias alias) {
    const SwigluFwd fwd{.gate = h.input(Role::compute, {T, F}, 4),
                        .up = h.input(Role::compute, {T, F}),
                        .h = h.output(Role::compute, {T, F})};
    h.kernels().run(fwd, h.stream());
    const TensorView d_h = h.input(Role::compute, {T, F});
    const SwigluBwd bwd{.d_h = d_h,
                        .gate = fwd.gate,
                        .up = fwd.up,
                        .d_gate = alias == Alias::none ? h.output(Role::compute, {T, F}) : d_h,
                        .d_up = h.output(Role::compute, {T, F})};
    h.kernels().run(bwd, h.stream());
    h.keep("h", fwd.h);
    h.keep("d_gate", bwd.d_gate);
    h.keep("d_up", bwd.d_up);
}

void swiglu_extremes(Harness& h) {
    const SwigluFwd fwd{.gate = h.input(Role::compute, {4, 100}, 60),
                        .up = h.input(Role::compute, {4, 100}),
                        .h = h.output(Role::compute, {4, 100})};
    h.kernels().run(fwd, h.stream());
    h.keep("h", fwd.h);
}

void packed_and_back(Harness& h, std::int64_t T, std::int64_t C, double scale) {
    const TensorView x = h.input(Role::compute, {T, C}, scale);
    const PackRows pack{.x = x, .packed = h.filled(Role::i32, {T, packed_words(C)}, -1)};
    h.kernels().run(pack, h.stream());
    const UnpackRows unpack{.packed = pack.packed, .x = h.output(Role::compute, {T, C})};
    h.kernels().run(unpack, h.stream());
    h.keep("packed", pack.packed);
    h.keep("x", unpack.x);
}

}  // namespace

void rmsnorm_both_ways(Harness& h, std::int64_t T, std::int64_t C) {
    const RmsNormFwd fwd{.x = h.input(Role::compute, {T, C}, 2),
                         .weight = h.input(Role::master, {C}),
                         .y = h.output(Role::compute, {T, C}),
                         .rstd = h.output(Role::accum, {T})};
    h.kernels().run(fwd, h.stream());
    const RmsNormBwd bwd{.d_y = h.input(Role::compute, {T, C}),
                         .x = fwd.x,
                         .weight = fwd.weight,
                         .rstd = fwd.rstd,
                         .d_x = h.input(Role::compute, {T, C}),
                         .d_weight = h.input(Role::accum, {C})};
    h.kernels().run(bwd, h.workspace(bwd), h.stream());
    h.keep("y", fwd.y);
    h.keep("d_x", bwd.d_x);
    if (T >= 256) h.keep("rstd", fwd.rstd);
    if (C >= 256) h.keep("d_weight", bwd.d_weight);
}

// Few distinct tokens, so that each row of the table sums many gradients.
void embedding_both_ways(Harness& h, std::int64_t T, std::int64_t V, std::int64_t C) {
    const EmbeddingFwd fwd{.tokens = h.tokens(T, V),
                           .table = h.input(Role::master, {V, C}),
                           .x = h.output(Role::compute, {T, C})};
    h.kernels().run(fwd, h.stream());
    const EmbeddingBwd bwd{.tokens = fwd.tokens,
                           .d_x = h.input(Role::compute, {T, C}),
                           .d_table = h.input(Role::accum, {V, C})};
    h.kernels().run(bwd, h.stream());
    h.keep("x", fwd.x);
    h.keep("d_table", bwd.d_table);
}

std::vector<OpCase> token_cases() {
    return {
        {"rmsnorm", [](Harness& h) { rmsnorm_both_ways(h, 300, 96); }},
        {"rmsnorm_odd_sizes", [](Harness& h) { rmsnorm_both_ways(h, 257, 33); }},
        {"rmsnorm_wide", [](Harness& h) { rmsnorm_both_ways(h, 70, 515); }},
        {"rmsnorm_one_token", [](Harness& h) { rmsnorm_both_ways(h, 1, 300); }},
        {"rope_forward", [](Harness& h) { rope(h, Rotation::forward, 32, 1); }},
        {"rope_backward", [](Harness& h) { rope(h, Rotation::backward, 16, 1); }},
        {"rope_scaled_wide_head", [](Harness& h) { rope(h, Rotation::forward, 128, 1.25); }},
        {"swiglu", [](Harness& h) { swiglu(h, 37, 101, Alias::none); }},
        {"swiglu_in_place", [](Harness& h) { swiglu(h, 64, 48, Alias::d_gate_is_d_h); }},
        {"swiglu_extremes", swiglu_extremes},
        {"pack", [](Harness& h) { packed_and_back(h, 70, 128, 1); }},
        {"pack_large_numbers", [](Harness& h) { packed_and_back(h, 9, 516, 1e30); }},
        {"pack_small_numbers", [](Harness& h) { packed_and_back(h, 12, 96, 1e-37); }},
        {"pack_odd_sizes", [](Harness& h) { packed_and_back(h, 33, 45, 3); }},
        {"embedding", [](Harness& h) { embedding_both_ways(h, 200, 19, 40); }},
        {"embedding_of_bytes", [](Harness& h) { embedding_both_ways(h, 333, 257, 33); }},
    };
}

}  // namespace rm::test
