#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/layout.h"
#include "tests/kernels/op_cases.h"

namespace rm::test {

struct AttentionSizes {
    std::int64_t num_query_heads = 1;
    std::int64_t num_kv_heads = 1;
    std::int64_t head_dim = 16;
};

// usual: scores a few units apart. huge: hundreds apart, so most probabilities underflow.
// very_negative: all equal, and so low that exp(score) and exp(-score) are out of range.
enum class AttentionScores { usual, huge, very_negative };

// Runs forward over the key-value blocks in order, then backward over the same blocks.
struct AttentionProblem {
    AttentionSizes sizes;
    std::vector<Run> q_runs;
    std::vector<std::vector<Run>> kv_blocks;
    AttentionScores scores = AttentionScores::usual;
    bool merges = false;  // every block has a state of its own, which the first one's takes in
};

OpCase attention_case(const std::string& name, AttentionProblem problem);

// The key-value blocks that slot `first_slot` of a ring sees, hop by hop.
std::vector<std::vector<Run>> zigzag_blocks(std::int64_t context, std::int64_t padded, int ring,
                                            int first_slot);

}  // namespace rm::test
