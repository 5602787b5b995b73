#include "tests/kernels/cuda/device_cases.h"

#include <cmath>

namespace rm::test {
namespace {

// Starts at the second row, which is not 16-byte aligned when F is odd.
void swiglu_from_the_second_row(Harness& h, std::int64_t T, std::int64_t F) {
    const auto rest = [&](const TensorView& x) { return x.rows(1, T - 1); };
    const SwigluFwd fwd{.gate = rest(h.input(Role::compute, {T, F})),
                        .up = rest(h.input(Role::compute, {T, F})),
                        .h = rest(h.output(Role::compute, {T, F}))};
    h.kernels().run(fwd, h.stream());
    const SwigluBwd bwd{.d_h = rest(h.input(Role::compute, {T, F})),
                        .gate = fwd.gate,
                        .up = fwd.up,
                        .d_gate = rest(h.output(Role::compute, {T, F})),
                        .d_up = rest(h.output(Role::compute, {T, F}))};
    h.kernels().run(bwd, h.stream());
    h.keep("h", fwd.h);
    h.keep("d_gate", bwd.d_gate);
    h.keep("d_up", bwd.d_up);
}

// Uses so many short documents that their runs fill several launches.
void rope_of_many_documents(Harness& h, std::int64_t num_documents, std::int64_t half) {
    std::vector<Run> runs;
    for (std::int64_t i = 0; i < num_documents; ++i)
        runs.push_back({static_cast<std::int32_t>(i), 1000 * i, i % 4});
    std::vector<double> inv_freq;
    for (std::int64_t i = 0; i < half; ++i)
        inv_freq.push_back(std::pow(1e6, -static_cast<double>(i) / static_cast<double>(half)));
    const std::int64_t T = num_tokens(runs);
    const RopeTable table{.runs = runs,
                          .inv_freq = inv_freq,
                          .cos = h.output(Role::accum, {T, half}),
                          .sin = h.output(Role::accum, {T, half})};
    h.kernels().run(table, h.stream());
    h.stream().synchronize();  // the table borrows runs and frequencies of this frame
    h.keep("cos", table.cos);
    h.keep("sin", table.sin);
}

// Converts between types there and back, at an aligned and at an unaligned address.
void conversions(Harness& h, std::int64_t size) {
    for (const std::int64_t first : {0, 1}) {
        const auto rest = [&](const TensorView& x) { return x.rows(first, size - first); };
        const TensorView compute = rest(h.input(Role::compute, {size}));
        const TensorView accum = rest(h.input(Role::accum, {size}));
        const auto copy = [&](const std::string& name, const TensorView& from, Role to) {
            const TensorView target = rest(h.output(to, {size}));
            h.kernels().run(Copy{.from = from, .to = target}, h.stream());
            h.keep(format("{}_from_{}", name, first), target);
            return target;
        };
        copy("compute_to_accum", compute, Role::accum);
        copy("accum_to_compute", accum, Role::compute);
        copy("accum_to_accum", accum, Role::accum);
        copy("accum_to_f64", accum, Role::f64);
        copy("f64_to_accum", copy("compute_to_f64", compute, Role::f64), Role::accum);
        const TensorView sum = rest(h.input(Role::accum, {size}));
        h.kernels().run(Add{.x = accum, .y = sum}, h.stream());
        h.keep(format("sum_from_{}", first), sum);
        const TensorView rounded = rest(h.input(Role::bf16, {size}));
        h.kernels().run(Add{.x = accum, .y = rounded}, h.stream());
        h.keep(format("rounded_sum_from_{}", first), rounded);
        const TensorView zeros = rest(h.output(Role::f64, {size}));
        h.kernels().run(FillZero{.x = zeros}, h.stream());
        h.keep(format("zeros_from_{}", first), zeros);
    }
}

// Runs the norm in several parts and one update, at an aligned and at an unaligned address.
void update(Harness& h, std::int64_t size, std::int64_t first, Role gradients) {
    const auto rest = [&](const TensorView& x) { return x.rows(first, size - first); };
    const TensorView grad = rest(h.input(gradients, {size}));
    const SumSquares squares{.x = grad, .sum = h.filled(Role::f64, {1}, 0)};
    h.kernels().run(squares, h.workspace(squares), h.stream());
    const TensorView clip = h.output(Role::f64, {3});
    h.kernels().run(ClipFactor{.sum = squares.sum, .max_norm = 1, .out = clip}, h.stream());
    const AdamW op{.weight = rest(h.input(Role::master, {size})),
                   .grad = grad,
                   .m = rest(h.filled(Role::accum, {size}, 0)),
                   .v = rest(h.filled(Role::accum, {size}, 0)),
                   .clip = clip,
                   .learning_rate = 3e-3,
                   .weight_decay = 0.1};
    h.kernels().run(op, h.stream());
    h.keep("weight", op.weight);
    h.keep("m", op.m);
    h.keep("v", op.v);
}

}  // namespace

std::vector<OpCase> device_cases() {
    return {
        {"rmsnorm_32_threads", [](Harness& h) { rmsnorm_both_ways(h, 40, 512); }},
        {"rmsnorm_64_threads", [](Harness& h) { rmsnorm_both_ways(h, 35, 1024 + 8); }},
        {"rmsnorm_128_threads", [](Harness& h) { rmsnorm_both_ways(h, 17, 3000); }},
        {"rmsnorm_256_threads", [](Harness& h) { rmsnorm_both_ways(h, 16, 4096 + 8); }},
        {"rmsnorm_512_threads", [](Harness& h) { rmsnorm_both_ways(h, 3, 8192 + 8); }},
        {"rmsnorm_any_row", [](Harness& h) { rmsnorm_both_ways(h, 2, 16384 + 8); }},
        {"rmsnorm_many_parts", [](Harness& h) { rmsnorm_both_ways(h, 33 * 16 + 1, 264); }},
        {"swiglu_aligned", [](Harness& h) { swiglu_from_the_second_row(h, 5, 104); }},
        {"swiglu_unaligned", [](Harness& h) { swiglu_from_the_second_row(h, 5, 101); }},
        {"embedding_of_few_tokens", [](Harness& h) { embedding_both_ways(h, 200, 3, 128); }},
        {"embedding_of_wide_rows", [](Harness& h) { embedding_both_ways(h, 3, 2, 4096 + 8); }},
        {"loss_of_many_columns", [](Harness& h) { loss_and_gradients(h, 70, 8, 2 * 2048 + 8); }},
        {"loss_unaligned", [](Harness& h) { loss_and_gradients(h, 67, 8, 101); }},
        {"update_aligned", [](Harness& h) { update(h, 20011, 0, Role::accum); }},
        {"update_unaligned", [](Harness& h) { update(h, 20011, 1, Role::accum); }},
        {"update_of_bf16_aligned", [](Harness& h) { update(h, 20011, 0, Role::bf16); }},
        {"update_of_bf16_unaligned", [](Harness& h) { update(h, 20011, 1, Role::bf16); }},
        {"rope_of_many_documents", [](Harness& h) { rope_of_many_documents(h, 200, 4); }},
        {"embedding_parts_unaligned", [](Harness& h) { embedding_in_parts(h, 40, 61, 33, 3); }},
        {"embedding_parts_aligned", [](Harness& h) { embedding_in_parts(h, 40, 61, 40, 2); }},
        {"head_of_many_columns", [](Harness& h) { head_in_parts(h, 44, 8, 2 * (2048 + 8), 2); }},
        {"head_unaligned", [](Harness& h) { head_in_parts(h, 44, 8, 601, 2); }},
        {"heads_aligned", [](Harness& h) { heads_copied(h, 9, 16); }},
        {"heads_unaligned", [](Harness& h) { heads_copied(h, 52, 1); }},
        {"parts_aligned", [](Harness& h) { parts_summed(h, 3, 2056); }},
        {"parts_unaligned", [](Harness& h) { parts_summed(h, 3, 2057); }},
        {"conversions", [](Harness& h) { conversions(h, 1003); }},
    };
}

std::vector<OpCase> large_device_cases() {
    return {
        {"embedding_of_two_segments",
         [](Harness& h) { embedding_both_ways(h, 8192 + 100, 5000, 8); }},
        {"loss_of_many_rows", [](Harness& h) { loss_and_gradients(h, 4096 + 100, 16, 16); }},
    };
}

}  // namespace rm::test
