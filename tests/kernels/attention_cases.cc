#include <cmath>

#include "tests/kernels/op_cases.h"

namespace rm::test {
namespace {

struct Sizes {
    std::int64_t num_query_heads = 1;
    std::int64_t num_kv_heads = 1;
    std::int64_t head_dim = 16;
};

// usual: a few units apart. huge: hundreds apart, most probabilities underflow. very_negative: all
// equal and so low that exp(score) and exp(-score) are out of range.
enum class Scores { usual, huge, very_negative };

// Forward over the key-value blocks one after the other, then backward over the same.
struct Problem {
    Sizes sizes;
    std::vector<Run> q_runs;
    std::vector<std::vector<Run>> kv_blocks;
    Scores scores = Scores::usual;
};

TensorView queries_or_keys(Harness& h, Shape shape, Scores scores, double sign) {
    switch (scores) {
        case Scores::usual:
            return h.input(Role::compute, shape, 1.5);
        case Scores::huge:
            return h.input(Role::compute, shape, 10);
        case Scores::very_negative:
            return h.filled(Role::compute, shape, sign * 16);
    }
    return {};
}

struct Block {
    TensorView k, v, d_k, d_v;
};

Block make_block(Harness& h, const std::vector<Run>& runs, const Problem& problem) {
    const Sizes& sizes = problem.sizes;
    const std::int64_t S = num_tokens(runs), Hk = sizes.num_kv_heads, D = sizes.head_dim;
    return {.k = queries_or_keys(h, {S, Hk, D}, problem.scores, -1),
            .v = h.input(Role::compute, {S, Hk, D}),
            .d_k = h.input(Role::accum, {S, Hk, D}),
            .d_v = h.input(Role::accum, {S, Hk, D})};
}

void attention(Harness& h, const Problem& problem) {
    const Sizes& sizes = problem.sizes;
    const std::int64_t T = num_tokens(problem.q_runs);
    const std::int64_t Hq = sizes.num_query_heads, D = sizes.head_dim;
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    Kernels& kernels = h.kernels();

    const TensorView q = queries_or_keys(h, {T, Hq, D}, problem.scores, 1);
    const AttentionState state{.acc = h.output(Role::accum, {T, Hq, D}),
                               .m = h.output(Role::accum, {T, Hq}),
                               .l = h.output(Role::accum, {T, Hq})};
    const TensorView out = h.output(Role::compute, {T, Hq, D});
    const TensorView lse = h.output(Role::accum, {T, Hq});
    kernels.attention_begin({.state = state}, h.stream());
    std::vector<Block> blocks;
    for (const std::vector<Run>& runs : problem.kv_blocks) {
        const Block& block = blocks.emplace_back(make_block(h, runs, problem));
        const AttentionFwd op{.state = state,
                              .q = q,
                              .k = block.k,
                              .v = block.v,
                              .q_runs = problem.q_runs,
                              .kv_runs = runs,
                              .scale = scale};
        kernels.attention_fwd(op, h.workspace(op), h.stream());
    }
    kernels.attention_finish({.state = state, .out = out, .lse = lse}, h.stream());

    const TensorView d_out = h.input(Role::compute, {T, Hq, D});
    const TensorView d_q = h.input(Role::accum, {T, Hq, D});
    const TensorView delta = h.output(Role::accum, {T, Hq});
    kernels.attention_delta({.d_out = d_out, .out = out, .delta = delta}, h.stream());
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
        kernels.attention_bwd(op, h.workspace(op), h.stream());
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

OpCase make_case(const std::string& name, Problem problem) {
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

}  // namespace

std::vector<OpCase> extreme_attention_cases() {
    const std::vector<Run> causal = {{0, 0, 131}};  // odd: the last key of a pair is missing
    return {make_case("huge", {{2, 1, 32}, causal, {causal}, Scores::huge}),
            make_case("very_negative", {{4, 2, 32}, causal, {causal}, Scores::very_negative})};
}

std::vector<OpCase> attention_cases() {
    const std::vector<Run> causal = {{0, 0, 130}};
    const std::vector<Run> documents = {{0, 0, 50}, {1, 0, 3}, {2, 0, 77}, {3, 40, 20}};
    const auto ring3 = zigzag_blocks(280, 288, 3, 0);  // slot 0 holds the padding
    return {
        make_case("causal", {{2, 2, 32}, causal, {causal}}),
        make_case("gqa", {{6, 2, 16}, causal, {causal}}),
        make_case("wide_head", {{4, 1, 128}, {{0, 0, 70}}, {{{0, 0, 70}}}}),
        make_case("odd_head", {{2, 1, 24}, {{0, 0, 90}}, {{{0, 0, 90}}}}),
        make_case("odder_head", {{3, 3, 17}, {{0, 0, 77}}, {{{0, 0, 77}}}}),
        make_case("head_of_40", {{4, 1, 40}, {{0, 0, 133}}, {{{0, 0, 133}}}}),
        make_case("head_of_80", {{2, 2, 80}, {{0, 7, 101}}, {{{0, 7, 101}}}}),
        make_case("eight_heads_share_keys", {{8, 1, 48}, {{0, 0, 195}}, {{{0, 0, 195}}}}),
        make_case("padding_between_documents",
                  {{2, 1, 32},
                   {{0, 0, 37}, {kPaddingDocument, 0, 11}, {1, 5, 83}},
                   {{{0, 0, 37}, {kPaddingDocument, 0, 11}, {1, 0, 88}}}}),
        make_case("one_query", {{4, 2, 64}, {{0, 99, 1}}, {{{0, 0, 100}}}}),
        make_case("all_keys_earlier",
                  {{2, 1, 64}, {{0, 200, 65}}, {{{0, 0, 200}}, {{0, 200, 65}}}}),
        make_case("documents", {{4, 2, 32}, documents, {documents}}),
        make_case("zigzag_ring", {{4, 2, 32}, ring3.front(), ring3}),
        make_case("zigzag_last_slot",
                  {{4, 4, 16}, zigzag_runs(256, 256, 4, 3, 0), zigzag_blocks(256, 256, 4, 3)}),
        make_case("a_block_that_nobody_sees",
                  {{4, 2, 16}, {{0, 0, 80}}, {{{0, 0, 80}}, {{0, 80, 40}}, {{1, 0, 30}}}}),
    };
}

}  // namespace rm::test
