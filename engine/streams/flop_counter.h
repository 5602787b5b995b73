#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/layout.h"
#include "kernels/ops/attention.h"

namespace rm {

// Counts the products that a step executes: what a policy does again counts again. As kernels/meta
// counts them in a dry run.
class FlopCounter {
public:
    template <typename Op>
    void add(const Op& op) {
        total_ += flops_of(op);
    }
    void add(const AttentionFwd& op) { total_ += op.flops(pairs(op.q_runs, op.kv_runs)); }
    void add(const AttentionBwd& op) { total_ += op.flops(pairs(op.q_runs, op.kv_runs)); }

    // Since the last call. The runs of the ops until then may go.
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
    std::map<std::pair<Runs, Runs>, double> pairs_;  // every layer asks for the same
};

}  // namespace rm
