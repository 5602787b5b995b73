#include <utility>

#include "tests/kernels/attention/attention_8bit_problem.h"

namespace rm::test {

OpCase attention_8bit_case(const std::string& name, Attention8Problem problem) {
    const std::int64_t head_dim = problem.problem.sizes.head_dim;
    return {"attention_8bit_" + name,
            [problem = std::move(problem)](Harness& h) {
                attend<AttentionProducts::eight_bit>(h, problem);
            },
            head_dim};
}

std::vector<OpCase> attention_8bit_cases() {
    const std::vector<Run> causal = {{0, 0, 130}}, wide = {{0, 0, 70}};
    const std::vector<Run> documents = {
        {0, 0, 67}, {kPaddingDocument, 0, 9}, {1, 5, 3}, {2, 0, 70}, {kPaddingDocument, 0, 2}};
    const auto ring = zigzag_blocks(280, 288, 3, 0);  // slot 0 holds the padding
    const auto add = [](const std::string& name, AttentionProblem problem,
                        KeyShape keys = KeyShape::normal) {
        return attention_8bit_case(name, {std::move(problem), keys});
    };
    return {
        add("causal", {{2, 2, 64}, causal, {causal}}),
        add("wide_head", {{4, 1, 128}, wide, {wide}}),
        add("gqa", {{6, 2, 32}, causal, {causal}}),
        add("odder_head", {{4, 4, 17}, {{0, 0, 77}}, {{{0, 0, 77}}}}),
        add("head_of_80", {{3, 1, 80}, {{0, 7, 101}}, {{{0, 7, 101}}}}),
        add("documents", {{4, 2, 64}, documents, {documents}}),
        add("zigzag_ring", {{4, 2, 64}, ring.front(), ring}),
        add("a_block_that_nobody_sees",
            {{4, 1, 128}, {{0, 0, 65}}, {{{0, 65, 40}}, {{0, 0, 65}}, {{1, 0, 30}}}}),
        add("zeros", {{2, 2, 64}, causal, {causal}}, KeyShape::zeros),
        add("offset_keys", {{4, 2, 64}, causal, {causal}}, KeyShape::offset),
        add("outlier", {{2, 2, 128}, causal, {causal}}, KeyShape::outlier),
    };
}

}  // namespace rm::test
