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

// Forward in 8 bits over the key-value blocks in order. The scores are not looked at.
struct Attention8Problem {
    AttentionProblem problem;
    KeyShape keys = KeyShape::normal;
};
// Op is AttentionFwd8, or AttentionFwd for the same without the roundings.
template <typename Op>
void attend(Harness& h, const Attention8Problem& all) {
    const AttentionProblem& problem = all.problem;
    const std::int64_t T = num_tokens(problem.q_runs), Hq = problem.sizes.num_query_heads;
    const std::int64_t Hk = problem.sizes.num_kv_heads, D = problem.sizes.head_dim;
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
    for (const std::vector<Run>& runs : problem.kv_blocks) {
        const std::int64_t S = num_tokens(runs);
        const double size = all.keys == KeyShape::zeros ? 0 : 1;
        const Op op{.state = state,
                    .q = q,
                    .k = h.input(Role::compute, {S, Hk, D}, key),
                    .v = h.input(Role::compute, {S, Hk, D}, size),
                    .q_runs = problem.q_runs,
                    .kv_runs = runs,
                    .scale = 1 / std::sqrt(static_cast<double>(D))};
        h.kernels().run(op, h.workspace(op), h.stream());
    }
    const TensorView out = h.output(Role::compute, {T, Hq, D});
    const TensorView lse = h.output(Role::accum, {T, Hq});
    h.kernels().run(AttentionFinish{.state = state, .out = out, .lse = lse}, h.stream());
    h.stream().synchronize();  // the ops borrow runs of the caller
    h.keep("out", out);
    h.keep("lse", lse);
}

OpCase attention_8bit_case(const std::string& name, Attention8Problem problem);

}  // namespace rm::test
