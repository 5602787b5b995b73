#pragma once

#include "engine/attention/kv_cache.h"
#include "engine/streams/ops.h"
#include "engine/streams/rank_streams.h"

namespace rm {

// The attention of one new token to itself and all before it. Every ring rank has the token's
// queries and attends to the keys that it holds; then the ranks exchange their states and each
// merges all, in the order of the ring (Flash-Decoding, Dao et al. 2023, over ranks). Queues only.
class CachedAttention {
public:
    // Borrows all. `shapes`: of the decode layout.
    CachedAttention(const RankStreams& streams, StepMemory& memory, const RankShapes& shapes,
                    const Ops& ops, KvCache& cache);

    // attended: of the token, S rows. Its keys and values enter the cache where this slot takes
    // them. out (S, attended_q, D) compute and lse (S, attended_q) accum get the result.
    void attend(const SequenceRuns& runs, int layer, const QueryKeyValue& attended, double scale,
                const TensorView& out, const TensorView& lse);

    StreamTimer& exposed() { return exchange_.exposed(); }

private:
    struct Queries {
        TensorView q;
        std::span<const Run> runs;
        double scale;
    };
    void append(int layer, const KeyValue& latest) const;
    void merge_prompt(int layer, const Queries& queries, const AttentionState& state);
    void merge(const Queries& queries, const KvBlock& block, const AttentionState& state) const;
    AttentionState state_of(const TensorView& part) const;
    void gather(const TensorView& parts);

    const Group& ring_;
    StepMemory& memory_;
    const RankShapes& shapes_;
    const Ops& ops_;
    KvCache& cache_;
    ExposedExchange exchange_;
};

}  // namespace rm
