#include "tests/kernels/attention/attention_problem.h"
#include "tests/support/zigzag_runs.h"

namespace rm::test {

std::vector<OpCase> extreme_attention_cases() {
    const std::vector<Run> causal = {{0, 0, 131}};  // odd: the last key of a pair is missing
    return {attention_case("huge", {{2, 1, 32}, causal, {causal}, AttentionScores::huge}),
            attention_case("very_negative",
                           {{4, 2, 32}, causal, {causal}, AttentionScores::very_negative})};
}

std::vector<OpCase> attention_cases() {
    const std::vector<Run> causal = {{0, 0, 130}};
    const std::vector<Run> documents = {{0, 0, 50}, {1, 0, 3}, {2, 0, 77}, {3, 40, 20}};
    const auto ring3 = zigzag_blocks(280, 288, 3, 0);  // slot 0 holds the padding
    const std::vector<std::vector<Run>> seen_by_some = {{{0, 0, 80}}, {{0, 80, 40}}, {{1, 0, 30}}};
    constexpr auto kUsual = AttentionScores::usual;
    return {
        attention_case("causal", {{2, 2, 32}, causal, {causal}}),
        attention_case("gqa", {{6, 2, 16}, causal, {causal}}),
        attention_case("wide_head", {{4, 1, 128}, {{0, 0, 70}}, {{{0, 0, 70}}}}),
        attention_case("odd_head", {{2, 1, 24}, {{0, 0, 90}}, {{{0, 0, 90}}}}),
        attention_case("odder_head", {{3, 3, 17}, {{0, 0, 77}}, {{{0, 0, 77}}}}),
        attention_case("head_of_40", {{4, 1, 40}, {{0, 0, 133}}, {{{0, 0, 133}}}}),
        attention_case("head_of_80", {{2, 2, 80}, {{0, 7, 101}}, {{{0, 7, 101}}}}),
        attention_case("eight_heads_share_keys", {{8, 1, 48}, {{0, 0, 195}}, {{{0, 0, 195}}}}),
        attention_case("padding_between_documents",
                       {{2, 1, 32},
                        {{0, 0, 37}, {kPaddingDocument, 0, 11}, {1, 5, 83}},
                        {{{0, 0, 37}, {kPaddingDocument, 0, 11}, {1, 0, 88}}}}),
        attention_case("one_query", {{4, 2, 64}, {{0, 99, 1}}, {{{0, 0, 100}}}}),
        attention_case("all_keys_earlier",
                       {{2, 1, 64}, {{0, 200, 65}}, {{{0, 0, 200}}, {{0, 200, 65}}}}),
        attention_case("documents", {{4, 2, 32}, documents, {documents}}),
        attention_case("zigzag_ring", {{4, 2, 32}, ring3.front(), ring3}),
        attention_case("zigzag_last_slot",
                       {{4, 4, 16}, zigzag_runs(256, 256, 4, 3, 0), zigzag_blocks(256, 256, 4, 3)}),
        attention_case("a_block_that_nobody_sees", {{4, 2, 16}, {{0, 0, 80}}, seen_by_some}),
        attention_case("merged_ring", {{4, 2, 64}, ring3.front(), ring3, kUsual, true}),
        attention_case("merged_odd_head", {{3, 3, 17}, {{0, 0, 80}}, seen_by_some, kUsual, true}),
    };
}

}  // namespace rm::test
