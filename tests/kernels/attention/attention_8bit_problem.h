#pragma once

#include <cmath>
#include <vector>

#include "tests/kernels/attention/attention_problem.h"

namespace rm::test {

// How the keys are distributed.
enum class KeyShape {
    normal,
    zeros,
    offset,   // every eighth channel lies around 20
    outlier,  // likewise, and one number is 1e4
};

// Attention in 8 bits over the key-value blocks in order, and its backward pass over the last of
// them. The scores are not looked at.
struct Attention8Problem {
    AttentionProblem problem;
    KeyShape keys = KeyShape::normal;
};
template <AttentionProducts kProducts>
void attend(Harness& h, const Attention8Problem& all) {
    const AttentionProblem& problem = all.problem;
    const std::int64_t T = num_tokens(problem.q_runs), Hq = problem.sizes.num_query_heads;
    const std::int64_t Hk = problem.sizes.num_kv_heads, D = problem.sizes.head_dim;
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    const auto key = [&, shape = all.keys](std::size_t i, double normal) {
        if (shape == KeyShape::normal) return normal;
        if (shape == KeyShape::zeros) return 0.0;
        if (shape == KeyShape::outlier && i == static_cast<std::size_t>(D) + 5) return 1e4;
        return i % 8 == 3 ? normal + 20 : normal;
    };
    const AttentionState state{.acc = h.output(Role::accum, {T, Hq, D}),
                               .m = h.output(Role::accum, {T, Hq}),
                               .l = h.output(Role::accum, {T, Hq})};
    const TensorView q = h.input(Role::compute, {T, Hq, D});
    h.kernels().run(AttentionBegin{.state = state}, h.stream());
    TensorView k, v;
    for (const std::vector<Run>& runs : problem.kv_blocks) {
        const std::int64_t S = num_tokens(runs);
        const double size = all.keys == KeyShape::zeros ? 0 : 1;
        k = h.input(Role::compute, {S, Hk, D}, key);
        v = h.input(Role::compute, {S, Hk, D}, size);
        const AttentionForwardOp<kProducts> op{.state = state,
                                               .q = q,
                                               .k = k,
                                               .v = v,
                                               .q_runs = problem.q_runs,
                                               .kv_runs = runs,
                                               .scale = scale};
        h.kernels().run(op, h.workspace(op), h.stream());
    }
    const TensorView out = h.output(Role::compute, {T, Hq, D});
    const TensorView lse = h.output(Role::accum, {T, Hq});
    h.kernels().run(AttentionFinish{.state = state, .out = out, .lse = lse}, h.stream());
    // Not that of `out`, whose probabilities may have been rounded to either neighbour.
    const TensorView delta = h.input(Role::accum, {T, Hq});
    const AttentionBackwardOp<kProducts> backward{.q = q,
                                                  .k = k,
                                                  .v = v,
                                                  .d_out = h.input(Role::compute, {T, Hq, D}),
                                                  .lse = lse,
                                                  .delta = delta,
                                                  .q_runs = problem.q_runs,
                                                  .kv_runs = problem.kv_blocks.back(),
                                                  .scale = scale,
                                                  .d_q = h.input(Role::accum, {T, Hq, D}),
                                                  .d_k = h.input(Role::accum, {k.dim(0), Hk, D}),
                                                  .d_v = h.input(Role::accum, {k.dim(0), Hk, D})};
    h.kernels().run(backward, h.workspace(backward), h.stream());
    h.stream().synchronize();  // the ops borrow runs of the caller
    h.keep("d_q", backward.d_q);
    h.keep("d_k", backward.d_k);
    h.keep("d_v", backward.d_v);
    h.keep("out", out);
    h.keep("lse", lse);
}

OpCase attention_8bit_case(const std::string& name, Attention8Problem problem);

}  // namespace rm::test
