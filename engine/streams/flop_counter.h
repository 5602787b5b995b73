#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/layout.h"
#include "kernels/ops/attention.h"

namespace rm {

// Counts the FLOPs of the products that a step executes, recomputation included, in the same way as
// kernels/meta in a dry run.
class FlopCounter {
public:
    template <typename Op>
    void add(const Op& op) {
        if constexpr (requires { Op::kFlopsPerPair; }) {
            total_ += op.flops(pairs(op.q_runs, op.kv_runs));
        } else {
            total_ += flops_of(op);
        }
    }

    // FLOPs since the last call. The caller may then free the runs of those ops.
    double take() {
        pairs_.clear();
        return std::exchange(total_, 0);
    }

private:
    using Runs = std::pair<const Run*, std::size_t>;
    double pairs(std::span<const Run> queries, std::span<const Run> keys) {
        const auto [at, added] =
            pairs_.try_emplace({{queries.data(), queries.size()}, {keys.data(), keys.size()}}, 0.0);
        if (added) at->second = static_cast<double>(attended_pairs(queries, keys));
        return at->second;
    }

    double total_ = 0;
    std::map<std::pair<Runs, Runs>, double> pairs_;  // the same for every layer
};

}  // namespace rm
