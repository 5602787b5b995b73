#include "tests/kernels/op_cases.h"

#include <array>
#include <cmath>
#include <limits>

namespace rm::test {

Outputs run_case(const OpCase& op_case, Kernels& kernels, std::uint64_t seed, DType precision) {
    Harness harness(kernels, seed, precision);
    op_case.run(harness);
    return harness.outputs();
}

std::vector<OpCase> all_op_cases() {
    std::vector<OpCase> all;
    for (const auto& family : {linear_cases(), fp8_cases(), token_cases(), attention_cases(),
                               attention_8bit_cases(), loss_cases(), update_cases(), cut_cases()}) {
        all.insert(all.end(), family.begin(), family.end());
    }
    return all;
}

namespace {

void linear(Harness& h, std::int64_t T, std::int64_t N, std::int64_t K, Into into) {
    const PreparedWeight& weight = h.prepared(N, K);
    const TensorView x = h.input(Role::compute, {T, K});
    const TensorView d_y = h.input(Role::compute, {T, N});
    const bool adds = into == Into::add;
    const TensorView y = adds ? h.input(Role::compute, {T, N}) : h.output(Role::compute, {T, N});
    const TensorView d_x = adds ? h.input(Role::compute, {T, K}) : h.output(Role::compute, {T, K});
    const TensorView d_weight = h.input(Role::accum, {N, K});
    const LinearFwd fwd{.x = x, .weight = &weight, .y = y, .into = into};
    h.kernels().run(fwd, h.workspace(fwd), h.stream());
    const LinearBwdInput bwd_input{.d_y = d_y, .weight = &weight, .d_x = d_x, .into = into};
    h.kernels().run(bwd_input, h.workspace(bwd_input), h.stream());
    const LinearBwdWeight bwd_weight{.d_y = d_y, .x = x, .d_weight = d_weight};
    h.kernels().run(bwd_weight, h.workspace(bwd_weight), h.stream());
    h.keep("y", y);
    h.keep("d_x", d_x);
    h.keep("d_weight", d_weight);
}

// Computes one sum per `group` rows, so that there are enough sums to compare.
void loss_only(Harness& h, std::int64_t group, std::int64_t C, std::int64_t V) {
    constexpr std::int64_t kNumGroups = 256;
    const std::int64_t T = kNumGroups * group;
    const PreparedWeight& head = h.prepared(V, C);
    const TensorView x = h.input(Role::compute, {T, C}, 3);
    const TensorView targets = h.tokens(T, V, kIgnoreTarget);
    const TensorView losses = h.output(Role::f64, {T});
    const TensorView sums = h.filled(Role::f64, {kNumGroups}, 0);
    Workspace workspace;
    for (std::int64_t i = 0; i < kNumGroups; ++i) {
        const LinearCrossEntropy op{.x = x.rows(i * group, group),
                                    .head = &head,
                                    .targets = targets.rows(i * group, group),
                                    .losses = losses.rows(i * group, group),
                                    .loss_sum = sums.rows(i, 1)};
        if (i == 0) workspace = h.workspace(op);
        h.kernels().run(op, workspace, h.stream());
    }
    h.keep("losses", losses);
    h.keep("loss_sum", sums);
}

void copy_add_fill(Harness& h) {
    const TensorView x = h.input(Role::compute, {33, 17});
    const TensorView y = h.input(Role::compute, {33, 17});
    const TensorView wide = h.output(Role::f64, {33 * 17});
    const TensorView back = h.output(Role::compute, {33, 17});
    const TensorView same = h.output(Role::compute, {33, 17});
    const TensorView zeros = h.output(Role::accum, {33, 17});
    h.kernels().run(Copy{.from = x, .to = wide}, h.stream());
    h.kernels().run(Copy{.from = wide, .to = back}, h.stream());
    h.kernels().run(Copy{.from = x, .to = same}, h.stream());
    h.kernels().run(Add{.x = x, .y = y}, h.stream());
    h.kernels().run(FillZero{.x = zeros}, h.stream());
    h.keep("wide", wide);
    h.keep("back", back);
    h.keep("same", same);
    h.keep("sum", y);
    h.keep("zeros", zeros);
}

// Adds numbers of bf16, and of accum, to sums in bf16.
void add_into_bf16(Harness& h, std::int64_t size) {
    for (const Role role : {Role::bf16, Role::accum}) {
        const TensorView sum = h.input(Role::bf16, {size});
        h.kernels().run(Add{.x = h.input(role, {size}), .y = sum}, h.stream());
        h.keep(role == Role::bf16 ? "of bf16" : "of accum", sum);
    }
}

void sum_into(Harness& h, const TensorView& x, const TensorView& sum) {
    const SumSquares op{.x = x, .sum = sum};
    h.kernels().run(op, h.workspace(op), h.stream());
}

void sum_squares(Harness& h, std::int64_t size, Role role) {
    constexpr std::int64_t kNumSums = 256;
    const TensorView x = h.input(role, {kNumSums, size});
    const TensorView sums = h.filled(Role::f64, {kNumSums}, 0.25);
    for (std::int64_t i = 0; i < kNumSums; ++i) {
        sum_into(h, x.rows(i, 1), sums.rows(i, 1));
    }
    h.keep("sums", sums);
}

void clip_factor(Harness& h) {
    constexpr std::int64_t kNumCases = 128;
    const TensorView roots = h.input(Role::accum, {kNumCases, 1});
    const TensorView sums = h.filled(Role::f64, {kNumCases}, 0);
    const TensorView clips = h.output(Role::f64, {3 * kNumCases});
    const std::array<double, 4> limits = {0, 0.1, 1, 10};
    for (std::int64_t i = 0; i < kNumCases; ++i) {
        sum_into(h, roots.rows(i, 1), sums.rows(i, 1));
        h.kernels().run(ClipFactor{.sum = sums.rows(i, 1),
                                   .max_norm = limits[static_cast<std::size_t>(i) % 4],
                                   .out = clips.rows(3 * i, 3)},
                        h.stream());
    }
    h.keep("clips", clips);
}

// Steps of many sites: none, or one of them, had a number that was not finite.
void clip_factor_of_fp8(Harness& h) {
    constexpr std::int64_t kNumSites = 90, kNonfinite = 3;
    const TensorView clips = h.output(Role::f64, {3 * (kNumSites + 1)});
    for (std::int64_t at = 0; at <= kNumSites; ++at) {
        const TensorView effects = h.filled(Role::f64, {kNumSites * kFp8EffectNumbers}, 3);
        for (std::int64_t i = 0; i < kNumSites; ++i) {
            const double count = i == at ? 1 : 0;
            h.kernels().device().write(&count, effects.rows(i * kFp8EffectNumbers + kNonfinite, 1));
        }
        h.kernels().run(ClipFactor{.sum = h.filled(Role::f64, {1}, 0.25),
                                   .max_norm = 1,
                                   .out = clips.rows(3 * at, 3),
                                   .effects = effects},
                        h.stream());
    }
    h.keep("clips", clips);
}

void adamw(Harness& h, std::int64_t size, double max_norm, Role gradients) {
    const TensorView grads = h.input(gradients, {3, size});
    const TensorView sum = h.filled(Role::f64, {1}, 0);
    const TensorView clip = h.output(Role::f64, {3});
    AdamW op{.weight = h.input(Role::master, {size}),
             .m = h.filled(Role::accum, {size}, 0),
             .v = h.filled(Role::accum, {size}, 0),
             .clip = clip,
             .learning_rate = 3e-3,
             .weight_decay = 0.1};
    sum_into(h, grads.rows(0, 1), sum);
    h.kernels().run(ClipFactor{.sum = sum, .max_norm = max_norm, .out = clip}, h.stream());
    for (op.step = 1; op.step <= 3; ++op.step) {
        op.grad = grads.rows(op.step - 1, 1).reshaped({size});
        h.kernels().run(op, h.stream());
    }
    h.keep("weight", op.weight);
    h.keep("m", op.m);
    h.keep("v", op.v);
}

void adamw_skips_what_is_not_finite(Harness& h) {
    const TensorView sum = h.filled(Role::f64, {1}, std::numeric_limits<double>::infinity());
    const TensorView clip = h.output(Role::f64, {3});
    const AdamW op{.weight = h.input(Role::master, {300}),
                   .grad = h.output(Role::accum, {300}),
                   .m = h.input(Role::accum, {300}),
                   .v = h.input(Role::accum, {300}),
                   .clip = clip,
                   .learning_rate = 1};
    h.kernels().run(ClipFactor{.sum = sum, .max_norm = 1, .out = clip}, h.stream());
    h.kernels().run(op, h.stream());
    h.keep("weight", op.weight);
    h.keep("m", op.m);
    h.keep("v", op.v);
}

}  // namespace

void loss_and_gradients(Harness& h, std::int64_t T, std::int64_t C, std::int64_t V) {
    const PreparedWeight& head = h.prepared(V, C);
    const LinearCrossEntropy op{.x = h.input(Role::compute, {T, C}, 3),
                                .head = &head,
                                .targets = h.tokens(T, V, kIgnoreTarget),
                                .scale = 1.0 / 77,
                                .losses = h.output(Role::f64, {T}),
                                .loss_sum = h.filled(Role::f64, {1}, 0),
                                .d_x = h.output(Role::compute, {T, C}),
                                .d_head = h.input(Role::accum, {V, C}, 1e-2)};
    h.kernels().run(op, h.workspace(op), h.stream());
    if (T >= 256) h.keep("losses", op.losses);
    h.keep("d_x", op.d_x);
    h.keep("d_head", op.d_head);
}

std::vector<OpCase> linear_cases() {
    return {
        {"linear_odd_sizes", [](Harness& h) { linear(h, 67, 130, 97, Into::overwrite); }},
        {"linear_odd_sizes_added", [](Harness& h) { linear(h, 67, 130, 97, Into::add); }},
        {"linear_few_tokens", [](Harness& h) { linear(h, 3, 257, 288, Into::overwrite); }},
        {"linear_one_token", [](Harness& h) { linear(h, 1, 300, 260, Into::add); }},
        {"linear_tiles", [](Harness& h) { linear(h, 512, 64, 48, Into::overwrite); }},
        // More than one block of rows, of columns and of depth.
        {"linear_blocks", [](Harness& h) { linear(h, 280, 140, 1030, Into::overwrite); }},
        {"linear_blocks_added", [](Harness& h) { linear(h, 260, 100, 514, Into::add); }},
        {"linear_many_tokens", [](Harness& h) { linear(h, 1041, 20, 70, Into::overwrite); }},
        {"linear_wide", [](Harness& h) { linear(h, 66, 512, 256, Into::add); }},
    };
}

std::vector<OpCase> loss_cases() {
    return {
        {"loss_only", [](Harness& h) { loss_only(h, 3, 17, 97); }},
        {"loss_only_one_row", [](Harness& h) { loss_only(h, 1, 32, 257); }},
        {"loss_and_gradients", [](Harness& h) { loss_and_gradients(h, 150, 40, 101); }},
        {"loss_and_gradients_of_bytes", [](Harness& h) { loss_and_gradients(h, 64, 64, 257); }},
    };
}

std::vector<OpCase> update_cases() {
    return {
        {"copy_add_fill", copy_add_fill},
        {"add_into_bf16", [](Harness& h) { add_into_bf16(h, 20011); }},
        {"sum_squares", [](Harness& h) { sum_squares(h, 1003, Role::accum); }},
        {"sum_squares_of_bf16", [](Harness& h) { sum_squares(h, 1003, Role::bf16); }},
        {"clip_factor", clip_factor},
        {"clip_factor_of_fp8", clip_factor_of_fp8},
        {"adamw", [](Harness& h) { adamw(h, 1003, 0, Role::accum); }},
        {"adamw_clipped", [](Harness& h) { adamw(h, 517, 0.5, Role::accum); }},
        {"adamw_of_bf16", [](Harness& h) { adamw(h, 2051, 0.5, Role::bf16); }},
        {"adamw_skips_what_is_not_finite", adamw_skips_what_is_not_finite},
    };
}

}  // namespace rm::test
