#include "engine/model/flop_counter.h"

namespace rm {

double FlopCounter::pairs(std::span<const Run> queries, std::span<const Run> keys) {
    const auto [at, added] =
        pairs_.try_emplace({{queries.data(), queries.size()}, {keys.data(), keys.size()}}, 0.0);
    if (added) at->second = static_cast<double>(attended_pairs(queries, keys));
    return at->second;
}

void FlopCounter::add(const AttentionFwd& op) {
    total_ += op.flops(pairs(op.q_runs, op.kv_runs));
}
void FlopCounter::add(const AttentionBwd& op) {
    total_ += op.flops(pairs(op.q_runs, op.kv_runs));
}

double FlopCounter::take() {
    pairs_.clear();
    return std::exchange(total_, 0);
}

}  // namespace rm
