#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "tests/kernels/harness.h"

namespace rm::test {

constexpr std::int64_t kSmallestTile = 64;  // tokens; the smallest that a job may choose

// Where the token dimension is cut.
struct Cut {
    std::vector<TokenRange> queries;
    std::vector<TokenRange> keys;
};

struct CutAttention {
    std::vector<Run> q_runs;
    std::vector<Run> kv_runs;
    std::int64_t Hq = 2, Hk = 1, D = 32;
};

// Forward, then backward. Keys outer, queries inner, both ascending.
Outputs run_attention(Kernels& kernels, const CutAttention& a, const Cut& cut);

// Cutting queries, keys or both at tiles, or at random whole tiles, changes no bit.
void expect_invariant(Kernels& kernels, const CutAttention& attention);

}  // namespace rm::test
