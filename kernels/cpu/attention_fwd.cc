#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "kernels/cpu/attention_tiles.h"

// Attention forward and the ops around it. The state counts in powers of two (m is log2(e) times
// the highest score), so that every exponential is one 2^x.
namespace rm::cpu {
namespace {

using Loops = simd::AttentionLoops;

// A query tile of one head with its state, while a worker runs it over the keys.
struct Query {
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
struct Layout {
    Layout(const AttentionSizes& sizes, int num_workers, Scratch& scratch)
        : tile_floats(sizes.tile_floats()),
          kv(scratch.floats(num_workers * Loops::kKv * tile_floats)),
          p(scratch.floats(num_workers * kTile * kTile)),
          max_queries(std::clamp<std::int64_t>(kMaxQueryFloats / query_floats(), 1, kMaxQueries)),
          queries(scratch.floats(num_workers * max_queries * query_floats())) {}

    std::int64_t query_floats() const { return (Loops::kQuery + 1) * tile_floats + 2 * kTile; }
    Query query(int worker, std::int64_t i) const {
        float* at = queries + (worker * max_queries + i) * query_floats();
        Query query{.packed = at, .acc = at + Loops::kQuery * tile_floats};
        query.m = query.acc + tile_floats;
        query.l = query.m + kTile;
        return query;
    }

    std::int64_t tile_floats = 0;
    float* kv = nullptr;  // (workers, kKv tiles)
    float* p = nullptr;   // (workers, 64, 64)
    std::int64_t max_queries = 0;
    float* queries = nullptr;  // (workers, max_queries, query_floats)
};

// How many query tiles an item of work has: as many as leave every worker several items.
std::int64_t queries_per_item(std::int64_t max_queries, std::int64_t num_queries,
                              std::int64_t num_workers) {
    std::int64_t count = max_queries;
    while (count > 1 && num_workers > 1 && num_queries < 8 * num_workers * count)
        count /= 2;
    return count;
}

class Forward : AttentionOverTiles<AttentionFwd, Layout> {
public:
    using AttentionOverTiles::AttentionOverTiles;

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
        std::array<Query, kMaxQueries> queries;
        for (std::int64_t i = 0; i < count; ++i) {
            Query& query = queries[usize(i)];
            query = layout_.query(worker, i);
            query.tile = q_tiles_.at((first + i) / sizes_.group());
            query.head = kv_head * sizes_.group() + (first + i) % sizes_.group();
            loops_.pack_query(tokens_of(op_.q, query.tile, query.head), query.packed);
            load_state(query);
        }
        const std::span used(queries.data(), usize(count));
        kv_tiles_.visit(0, kv_tiles_.count(),
                        [&](const RunTile& kv) { merge(used, kv, kv_head, worker); });
        for (const Query& query : used)
            store_state(query);
    }

    void merge(std::span<const Query> queries, const RunTile& kv, std::int64_t kv_head,
               int worker) const {
        float* packed = layout_.kv + worker * Loops::kKv * layout_.tile_floats;
        bool is_packed = false;
        for (const Query& query : queries) {
            if (!sees(query.tile, kv)) continue;
            if (!std::exchange(is_packed, true)) {
                loops_.pack_kv(tokens_of(op_.k, kv, kv_head), tokens_of(op_.v, kv, kv_head),
                               packed);
            }
            loops_.forward({.rows = query.tile.count,
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

    void load_state(const Query& query) const {
        const std::int64_t width = layout_.tile_floats / kTile;
        std::fill_n(query.acc, layout_.tile_floats + 2 * kTile, 0.0f);
        for (std::int64_t i = 0; i < query.tile.count; ++i) {
            const std::int64_t row = (query.tile.token + i) * sizes_.Hq + query.head;
            std::copy_n(op_.state.acc.as<float>() + row * sizes_.D, sizes_.D,
                        query.acc + i * width);
            query.m[i] = op_.state.m.as<float>()[row];
            query.l[i] = op_.state.l.as<float>()[row];
        }
    }
    void store_state(const Query& query) const {
        const std::int64_t width = layout_.tile_floats / kTile;
        for (std::int64_t i = 0; i < query.tile.count; ++i) {
            const std::int64_t row = (query.tile.token + i) * sizes_.Hq + query.head;
            std::copy_n(query.acc + i * width, sizes_.D,
                        op_.state.acc.as<float>() + row * sizes_.D);
            op_.state.m.as<float>()[row] = query.m[i];
            op_.state.l.as<float>()[row] = query.l[i];
        }
    }
};

}  // namespace

void run(const AttentionBegin& op, Workspace, Context& context) {
    run(FillZero{op.state.acc}, {}, context);
    std::fill_n(op.state.m.as<float>(), op.state.m.num_elements(),
                -std::numeric_limits<float>::infinity());
    std::fill_n(op.state.l.as<float>(), op.state.l.num_elements(), 0.0f);
}

Bytes scratch_bytes(const AttentionFwd& op, const Context& context) {
    Scratch scratch;
    const Layout layout(sizes_of(op), context.workers.count(), scratch);
    return scratch.used();
}
void run(const AttentionFwd& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout(sizes_of(op), context.workers.count(), scratch);
    Forward(op, layout, context).run();
}

void run(const AttentionFinish& op, Workspace, Context& context) {
    const auto *acc = op.state.acc.as<float>(), *m = op.state.m.as<float>();
    const auto* l = op.state.l.as<float>();
    auto* lse = op.lse.as<float>();
    const Loops& loops = attention_loops(context, op.out.dtype());
    const std::int64_t D = op.out.dim(2);
    const auto rows = [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t row = first; row < first + count; ++row) {
            const bool seen = l[row] != 0;
            loops.scale(acc + row * D, seen ? 1 / l[row] : 0, row_of(op.out, row), D);
            lse[row] = seen ? static_cast<float>(m[row] * std::numbers::ln2 + std::log(l[row]))
                            : -std::numeric_limits<float>::infinity();
        }
    };
    context.workers.for_blocks(op.lse.num_elements(), kTile, rows);
}

void run(const AttentionDelta& op, Workspace, Context& context) {
    auto* delta = op.delta.as<float>();
    const Loops& loops = attention_loops(context, op.out.dtype());
    const std::int64_t D = op.out.dim(2);
    const auto rows = [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t row = first; row < first + count; ++row)
            delta[row] = loops.dot(row_of(op.d_out, row), row_of(op.out, row), D);
    };
    context.workers.for_blocks(op.delta.num_elements(), kTile, rows);
}

}  // namespace rm::cpu
