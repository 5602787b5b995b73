#include "tests/kernels/attention/attention_problem.h"

#include <cmath>
#include <utility>

#include "tests/support/zigzag_runs.h"

namespace rm::test {
namespace {

TensorView queries_or_keys(Harness& h, Shape shape, AttentionScores scores, double sign) {
    switch (scores) {
        case AttentionScores::usual:
            return h.input(Role::compute, shape, 1.5);
        case AttentionScores::huge:
            return h.input(Role::compute, shape, 10);
        case AttentionScores::very_negative:
            return h.filled(Role::compute, shape, sign * 16);
    }
    return {};
}

struct Block {
    TensorView k, v, d_k, d_v;
};

Block make_block(Harness& h, const std::vector<Run>& runs, const AttentionProblem& problem) {
    const AttentionSizes& sizes = problem.sizes;
    const std::int64_t S = num_tokens(runs), Hk = sizes.num_kv_heads, D = sizes.head_dim;
    return {.k = queries_or_keys(h, {S, Hk, D}, problem.scores, -1),
            .v = h.input(Role::compute, {S, Hk, D}),
            .d_k = h.input(Role::accum, {S, Hk, D}),
            .d_v = h.input(Role::accum, {S, Hk, D})};
}

AttentionState make_state(Harness& h, std::int64_t T, const AttentionSizes& sizes) {
    const std::int64_t Hq = sizes.num_query_heads;
    return {.acc = h.output(Role::accum, {T, Hq, sizes.head_dim}),
            .m = h.output(Role::accum, {T, Hq}),
            .l = h.output(Role::accum, {T, Hq})};
}

void attention(Harness& h, const AttentionProblem& problem) {
    const AttentionSizes& sizes = problem.sizes;
    const std::int64_t T = num_tokens(problem.q_runs);
    const std::int64_t Hq = sizes.num_query_heads, D = sizes.head_dim;
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    Kernels& kernels = h.kernels();

    const TensorView q = queries_or_keys(h, {T, Hq, D}, problem.scores, 1);
    const AttentionState state = make_state(h, T, sizes);
    const TensorView out = h.output(Role::compute, {T, Hq, D});
    const TensorView lse = h.output(Role::accum, {T, Hq});
    const AttentionState other = problem.merges ? make_state(h, T, sizes) : state;
    kernels.run(AttentionBegin{.state = state}, h.stream());
    std::vector<Block> blocks;
    for (const std::vector<Run>& runs : problem.kv_blocks) {
        const bool merges = problem.merges && !blocks.empty();
        const Block& block = blocks.emplace_back(make_block(h, runs, problem));
        if (merges) kernels.run(AttentionBegin{.state = other}, h.stream());
        const AttentionFwd op{.state = merges ? other : state,
                              .q = q,
                              .k = block.k,
                              .v = block.v,
                              .q_runs = problem.q_runs,
                              .kv_runs = runs,
                              .scale = scale};
        kernels.run(op, h.workspace(op), h.stream());
        if (merges) kernels.run(AttentionMerge{.other = other, .state = state}, h.stream());
    }
    kernels.run(AttentionFinish{.state = state, .out = out, .lse = lse}, h.stream());

    const TensorView d_out = h.input(Role::compute, {T, Hq, D});
    const TensorView d_q = h.input(Role::accum, {T, Hq, D});
    const TensorView delta = h.output(Role::accum, {T, Hq});
    kernels.run(AttentionDelta{.d_out = d_out, .out = out, .delta = delta}, h.stream());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const AttentionBwd op{.q = q,
                              .k = blocks[i].k,
                              .v = blocks[i].v,
                              .d_out = d_out,
                              .lse = lse,
                              .delta = delta,
                              .q_runs = problem.q_runs,
                              .kv_runs = problem.kv_blocks[i],
                              .scale = scale,
                              .d_q = d_q,
                              .d_k = blocks[i].d_k,
                              .d_v = blocks[i].d_v};
        kernels.run(op, h.workspace(op), h.stream());
        h.keep(format("d_k{}", i), op.d_k);
        h.keep(format("d_v{}", i), op.d_v);
    }
    h.stream().synchronize();  // the ops borrow runs of this frame
    h.keep("out", out);
    h.keep("d_q", d_q);
    if (T * Hq < 256) return;
    h.keep("lse", lse);
    h.keep("delta", delta);
}

}  // namespace

OpCase attention_case(const std::string& name, AttentionProblem problem) {
    const std::int64_t head_dim = problem.sizes.head_dim;
    return {"attention_" + name,
            [problem = std::move(problem)](Harness& h) { attention(h, problem); }, head_dim};
}

std::vector<std::vector<Run>> zigzag_blocks(std::int64_t context, std::int64_t padded, int ring,
                                            int first_slot) {
    std::vector<std::vector<Run>> blocks;
    for (int hop = 0; hop < ring; ++hop) {
        blocks.push_back(zigzag_runs(context, padded, ring, (first_slot + hop) % ring, 0));
    }
    return blocks;
}

}  // namespace rm::test
