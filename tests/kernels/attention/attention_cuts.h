#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "tests/kernels/harness.h"

namespace rm::test {

constexpr std::int64_t kSmallestTile = 64;  // in tokens; the smallest tile a job may choose

// The ranges into which a case cuts the token dimension.
struct Cut {
    std::vector<TokenRange> queries;
    std::vector<TokenRange> keys;
};

struct CutAttention {
    std::vector<Run> q_runs;
    std::vector<Run> kv_runs;
    std::int64_t Hq = 2, Hk = 1, D = 32;
    AttentionProducts products = AttentionProducts::compute;
};

// Runs forward, then backward: keys in the outer loop, queries in the inner one, both ascending.
Outputs run_attention(Kernels& kernels, const CutAttention& a, const Cut& cut);

// Expects the same bits however queries, keys or both are cut: at every tile or at random tiles.
void expect_invariant(Kernels& kernels, const CutAttention& attention);

}  // namespace rm::test
