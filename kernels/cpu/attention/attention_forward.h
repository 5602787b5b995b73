#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/attention/attention_tiles.h"

// How attention forward runs over its tiles, in the compute type and in 8 bits. The state counts in
// powers of two (m is log2(e) times the highest score), so that every exponential is one 2^x.
//
// `Steps` knows the packed forms and one softmax step:
//     static std::int64_t query_floats(std::int64_t tile_floats);
//     static std::int64_t kv_floats(std::int64_t tile_floats);
//     Steps(const Op& op, const AttentionSizes& sizes, const simd::AttentionLoops& loops);
//     void pack_query(const RunTile& tile, std::int64_t head, float* to) const;
//     void pack_kv(const RunTile& tile, std::int64_t head, float* to) const;
//     void run(const simd::AttentionFwdTile& tile) const;
namespace rm::cpu {

// A query tile of one head with its state, while a worker runs it over the keys.
struct ForwardQuery {
    RunTile tile;
    std::int64_t head = 0;
    float* packed = nullptr;
    float* acc = nullptr;  // (64, width)
    float* m = nullptr;    // (64)
    float* l = nullptr;    // (64)
};

// Key-value tiles are packed once for so many query tiles of their head, as long as those stay in
// the second level of cache.
constexpr std::int64_t kMaxQueries = 8, kMaxQueryFloats = 132 * 1024;

// The op's workspace: constant in T and S.
template <typename Steps>
struct ForwardLayout {
    ForwardLayout(const AttentionSizes& sizes, int num_workers, Scratch& scratch)
        : tile_floats(sizes.tile_floats()),
          kv(scratch.floats(num_workers * kv_floats())),
          p(scratch.floats(num_workers * kTile * kTile)),
          max_queries(std::clamp<std::int64_t>(kMaxQueryFloats / query_floats(), 1, kMaxQueries)),
          queries(scratch.floats(num_workers * max_queries * query_floats())) {}

    std::int64_t kv_floats() const { return Steps::kv_floats(tile_floats); }
    std::int64_t packed_floats() const { return Steps::query_floats(tile_floats); }
    std::int64_t query_floats() const { return packed_floats() + tile_floats + 2 * kTile; }
    ForwardQuery query(int worker, std::int64_t i) const {
        float* at = queries + (worker * max_queries + i) * query_floats();
        ForwardQuery query{.packed = at, .acc = at + packed_floats()};
        query.m = query.acc + tile_floats;
        query.l = query.m + kTile;
        return query;
    }

    std::int64_t tile_floats = 0;
    float* kv = nullptr;  // (workers, kv_floats)
    float* p = nullptr;   // (workers, 64, 64)
    std::int64_t max_queries = 0;
    float* queries = nullptr;  // (workers, max_queries, query_floats)
};

// How many query tiles an item of work has: as many as leave every worker several items.
inline std::int64_t queries_per_item(std::int64_t max_queries, std::int64_t num_queries,
                                     std::int64_t num_workers) {
    std::int64_t count = max_queries;
    while (count > 1 && num_workers > 1 && num_queries < 8 * num_workers * count)
        count /= 2;
    return count;
}

template <typename Op, typename Steps>
class AttentionForward : AttentionOverTiles<Op, ForwardLayout<Steps>> {
    using Base = AttentionOverTiles<Op, ForwardLayout<Steps>>;
    using Base::kv_tiles_;
    using Base::layout_;
    using Base::loops_;
    using Base::op_;
    using Base::q_tiles_;
    using Base::sizes_;
    using Base::workers_;

public:
    AttentionForward(const Op& op, const ForwardLayout<Steps>& layout, Context& context)
        : Base(op, layout, context), steps_(op, sizes_, loops_) {}

    // Later tiles of a run see more: they go first, so that the threads end together.
    void run() {
        const std::int64_t per_head = q_tiles_.count() * sizes_.group();
        const std::int64_t count =
            queries_per_item(layout_.max_queries, per_head * sizes_.Hk, workers_.count());
        const std::int64_t items = (per_head + count - 1) / count;
        workers_.for_items(items * sizes_.Hk, [&](std::int64_t item, int worker) {
            const std::int64_t first = (items - 1 - item / sizes_.Hk) * count;
            run_queries(first, std::min(count, per_head - first), item % sizes_.Hk, worker);
        });
    }

private:
    // Queries [first, first + count) of a key-value head, counting the heads of a tile first.
    void run_queries(std::int64_t first, std::int64_t count, std::int64_t kv_head,
                     int worker) const {
        std::array<ForwardQuery, kMaxQueries> queries;
        for (std::int64_t i = 0; i < count; ++i) {
            ForwardQuery& query = queries[usize(i)];
            query = layout_.query(worker, i);
            query.tile = q_tiles_.at((first + i) / sizes_.group());
            query.head = kv_head * sizes_.group() + (first + i) % sizes_.group();
            steps_.pack_query(query.tile, query.head, query.packed);
            load_state(query);
        }
        const std::span used(queries.data(), usize(count));
        kv_tiles_.visit(0, kv_tiles_.count(),
                        [&](const RunTile& kv) { merge(used, kv, kv_head, worker); });
        for (const ForwardQuery& query : used)
            store_state(query);
    }

    void merge(std::span<const ForwardQuery> queries, const RunTile& kv, std::int64_t kv_head,
               int worker) const {
        float* packed = layout_.kv + worker * layout_.kv_floats();
        bool is_packed = false;
        for (const ForwardQuery& query : queries) {
            if (!sees(query.tile, kv)) continue;
            if (!std::exchange(is_packed, true)) steps_.pack_kv(kv, kv_head, packed);
            steps_.run({.rows = query.tile.count,
                        .keys = kv.count,
                        .D = sizes_.D,
                        .first_limit = first_limit(query.tile, kv),
                        .scale = static_cast<float>(op_.scale),
                        .query = query.packed,
                        .kv = packed,
                        .acc = query.acc,
                        .m = query.m,
                        .l = query.l,
                        .p = layout_.p + worker * kTile * kTile});
        }
    }

    void load_state(const ForwardQuery& query) const {
        const AttentionState& state = op_.state;
        const std::int64_t width = layout_.tile_floats / kTile;
        std::fill_n(query.acc, layout_.tile_floats + 2 * kTile, 0.0f);
        for (std::int64_t i = 0; i < query.tile.count; ++i) {
            const std::int64_t row = (query.tile.token + i) * sizes_.Hq + query.head;
            std::copy_n(state.acc.as<float>() + row * sizes_.D, sizes_.D, query.acc + i * width);
            query.m[i] = state.m.as<float>()[row];
            query.l[i] = state.l.as<float>()[row];
        }
    }
    void store_state(const ForwardQuery& query) const {
        const AttentionState& state = op_.state;
        const std::int64_t width = layout_.tile_floats / kTile;
        for (std::int64_t i = 0; i < query.tile.count; ++i) {
            const std::int64_t row = (query.tile.token + i) * sizes_.Hq + query.head;
            std::copy_n(query.acc + i * width, sizes_.D, state.acc.as<float>() + row * sizes_.D);
            state.m.as<float>()[row] = query.m[i];
            state.l.as<float>()[row] = query.l[i];
        }
    }

    const Steps steps_;
};

template <typename Steps, typename Op>
Bytes forward_scratch_bytes(const Op& op, const Context& context) {
    Scratch scratch;
    const ForwardLayout<Steps> layout(sizes_of(op), context.workers.count(), scratch);
    return scratch.used();
}
template <typename Steps, typename Op>
void run_forward(const Op& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const ForwardLayout<Steps> layout(sizes_of(op), context.workers.count(), scratch);
    AttentionForward<Op, Steps>(op, layout, context).run();
}

}  // namespace rm::cpu
