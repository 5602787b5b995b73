#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/attention_8bit.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/attention/rounded_tile.h"
#include "kernels/cpu/block_grid.h"

// Attention backward: one pass over the visible pairs of tiles that sums into d_q, d_k and d_v at
// once.
//
// The pairs are grouped into blocks (query block i, key block j). Blocks of one i, which share rows
// of d_q, run one after the other in the order of j, and blocks of one j, which share rows of d_k
// and d_v, in the order of i. So every output is summed in one order (d_q: keys ascending; d_k,
// d_v: query tiles ascending, heads of the group within a tile), whatever the threads and the size
// of a block.
namespace rm::cpu {
namespace {

using Loops = simd::AttentionLoops;

// Most tiles per side of a block.
constexpr std::int64_t kMaxBlock = 8;

// The op's workspace: constant in T and S.
struct Layout {
    Layout(const AttentionSizes& sizes, const Loops& loops, int num_workers, Scratch& scratch)
        : tile_floats(sizes.tile_floats()),
          kv_floats(loops.kv_bwd * tile_floats),
          kv(scratch.floats(num_workers * kMaxBlock * kv_floats)),
          query(scratch.floats(num_workers * Loops::kQueryBwd * tile_floats)),
          p(scratch.floats(num_workers * kScores)) {}

    static constexpr std::int64_t kScores = simd::kAttentionBwdScratch * kTile * kTile;

    std::int64_t tile_floats = 0, kv_floats = 0;
    float* kv = nullptr;     // (workers, kMaxBlock, kv_floats)
    float* query = nullptr;  // (workers, kQueryBwd tiles)
    float* p = nullptr;      // (workers, kScores)
};

struct TileRange {
    std::int64_t first = 0, last = 0;
};

// Tiles per side of a block: large ones pack queries rarely, small ones occupy more threads.
std::int64_t block_tiles(std::int64_t q_tiles, std::int64_t kv_tiles, std::int64_t Hk,
                         std::int64_t num_workers) {
    std::int64_t tiles = kMaxBlock;
    if (Hk % num_workers == 0) return tiles;
    while (tiles > 1 && std::min(q_tiles, kv_tiles) / tiles * Hk < 8 * num_workers)
        tiles /= 2;
    return tiles;
}

class Backward : AttentionOverTiles<AttentionBwd, Layout> {
public:
    Backward(const AttentionBwd& op, AttentionProducts products, const Layout& layout,
             Context& context)
        : AttentionOverTiles(op, layout, context), products_(products) {}

    void run() {
        const std::int64_t size =
            block_tiles(q_tiles_.count(), kv_tiles_.count(), sizes_.Hk, workers_.count());
        const auto range = [&](std::int64_t i) { return TileRange{i * size, (i + 1) * size}; };
        const auto blocks = [&](const RunTiles& tiles) {
            return (tiles.count() + size - 1) / size;
        };
        BlockGrid grid(blocks(q_tiles_), blocks(kv_tiles_), sizes_.Hk);
        grid.run(
            workers_, [&](std::int64_t i, std::int64_t j) { return sees_any(range(i), range(j)); },
            [&](std::int64_t i, std::int64_t j, std::int64_t kv_head, int worker) {
                block(range(i), range(j), kv_head, worker);
            });
    }

private:
    bool sees_any(TileRange queries, TileRange keys) const {
        bool any = false;
        q_tiles_.visit(queries.first, queries.last, [&](const RunTile& q) {
            if (any) return;
            kv_tiles_.visit(keys.first, keys.last,
                            [&](const RunTile& kv) { any = any || sees(q, kv); });
        });
        return any;
    }

    void block(TileRange queries, TileRange keys, std::int64_t kv_head, int worker) const {
        // Which key tiles are packed already, and which a query tile sees.
        std::array<bool, kMaxBlock> packed{};
        q_tiles_.visit(queries.first, queries.last, [&](const RunTile& q) {
            bool any = false;
            std::size_t next = 0;
            kv_tiles_.visit(keys.first, keys.last, [&](const RunTile& kv) {
                const std::size_t i = next++;
                if (!sees(q, kv)) return;
                any = true;
                if (std::exchange(packed[i], true)) return;
                pack_keys(kv, kv_head, packed_kv(worker, i));
            });
            if (!any) return;
            for (std::int64_t i = 0; i < sizes_.group(); ++i)
                query_tile(q, keys, kv_head * sizes_.group() + i, worker);
        });
    }

    void pack_keys(const RunTile& kv, std::int64_t head, float* to) const {
        if (products_ == AttentionProducts::compute)
            return loops_.pack_kv_bwd(tokens_of(op_.k, kv, head), tokens_of(op_.v, kv, head), to);
        const auto round = [D = sizes_.D](std::vector<float>& k) { to_rounded_keys(k, D); };
        const RoundedTile k(op_.k, kv, head, round), v(op_.v, kv, head, to_rounded_values);
        loops_.pack_kv_bwd(k.tokens(), v.tokens(), to);
    }
    void pack_queries(const RunTile& tile, std::int64_t head, float* to) const {
        const simd::AttentionTokens d_out = tokens_of(op_.d_out, tile, head);
        if (products_ == AttentionProducts::compute)
            return loops_.pack_query_bwd(tokens_of(op_.q, tile, head), d_out, to);
        const auto round = [D = usize(sizes_.D)](std::vector<float>& q) {
            for (std::size_t at = 0; at < q.size(); at += D)
                to_rounded_query(std::span(q).subspan(at, D));
        };
        loops_.pack_query_bwd(RoundedTile(op_.q, tile, head, round).tokens(), d_out, to);
    }

    float* packed_kv(int worker, std::size_t i) const {
        const auto tile = worker * kMaxBlock + static_cast<std::int64_t>(i);
        return layout_.kv + tile * layout_.kv_floats;
    }

    void query_tile(const RunTile& q, TileRange keys, std::int64_t head, int worker) const {
        const auto [T, S, Hq, Hk, D] = sizes_;
        const std::int64_t kv_head = head / sizes_.group(), row = q.token * Hq + head;
        float lse[kTile] = {}, lse_rest[kTile] = {}, delta[kTile] = {};
        gather_lse(row, q.count, lse, lse_rest);
        for (std::int64_t i = 0; i < q.count; ++i)
            delta[i] = op_.delta.as<float>()[row + i * Hq];
        float* packed = layout_.query + worker * Loops::kQueryBwd * layout_.tile_floats;
        pack_queries(q, head, packed);
        simd::AttentionBwdTile tile{.rows = q.count,
                                    .D = D,
                                    .scale = static_cast<float>(op_.scale),
                                    .query = packed,
                                    .lse = lse,
                                    .lse_rest = lse_rest,
                                    .delta = delta,
                                    .d_q = op_.d_q.as<float>() + row * D,
                                    .q_stride = Hq * D,
                                    .kv_stride = Hk * D,
                                    .p = layout_.p + worker * Layout::kScores};
        std::size_t i = 0;
        kv_tiles_.visit(keys.first, keys.last, [&](const RunTile& kv) {
            tile.kv = packed_kv(worker, i++);
            if (!sees(q, kv)) return;
            const std::int64_t at = (kv.token * sizes_.Hk + kv_head) * sizes_.D;
            tile.keys = kv.count;
            tile.first_limit = first_limit(q, kv);
            tile.d_k = op_.d_k.as<float>() + at;
            tile.d_v = op_.d_v.as<float>() + at;
            loops_.backward(tile);
        });
    }

    // lse becomes a power of two; a row that saw no key gets +inf, so that its probabilities are 0.
    void gather_lse(std::int64_t row, std::int64_t count, float* lse, float* rest) const {
        for (std::int64_t i = 0; i < count; ++i) {
            const double value = op_.lse.as<float>()[row + i * sizes_.Hq] * std::numbers::log2e;
            lse[i] = static_cast<float>(std::isinf(value) ? std::abs(value) : value);
            rest[i] = std::isinf(value) ? 0 : static_cast<float>(value - lse[i]);
        }
    }

    const AttentionProducts products_;
};

template <typename Op>
Layout layout_of(const Op& op, const Context& context, Scratch& scratch) {
    return {sizes_of(op), attention_loops(context, op.q.dtype()), context.workers.count(), scratch};
}
template <typename Op>
Bytes used_by(const Op& op, const Context& context) {
    Scratch scratch;
    layout_of(op, context, scratch);
    return scratch.used();
}

}  // namespace

Bytes scratch_bytes(const AttentionBwd& op, const Context& context) {
    return used_by(op, context);
}
Bytes scratch_bytes(const AttentionBwd8& op, const Context& context) {
    return used_by(op, context);
}
void run(const AttentionBwd& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout = layout_of(op, context, scratch);
    Backward(op, AttentionProducts::compute, layout, context).run();
}
void run(const AttentionBwd8& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout = layout_of(op, context, scratch);
    const AttentionBwd call = on_rounded(op, op.q, op.k, op.v);  // tiles are rounded when packed
    Backward(call, AttentionProducts::eight_bit, layout, context).run();
}

}  // namespace rm::cpu
