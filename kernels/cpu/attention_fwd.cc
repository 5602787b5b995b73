#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/cpu/attention_tiles.h"

// Attention forward and the ops around it. The state counts in powers of two (m is log2(e) times
// the highest score), so that every exponential is one 2^x.
namespace rm::cpu {
namespace {

void bind_state(Dims& dims, const AttentionState& state) {
    dims.bind<"T Hq D">(state.acc, "acc").bind<"T Hq">(state.m, "m").bind<"T Hq">(state.l, "l");
}

// The op's workspace.
struct Layout {
    Layout(const AttentionSizes& sizes, int num_workers, Scratch& scratch)
        : k_t(sizes, scratch),
          q_t(scratch.floats(num_workers * sizes.D * kTile)),
          p(scratch.floats(num_workers * kTile * kTile)) {}

    TransposedTiles k_t;
    float* q_t = nullptr;  // (workers, D, 64)
    float* p = nullptr;    // (workers, 64, 64)
};

// One query tile of one head against all it sees.
void query_tile(const AttentionFwd& op, const Layout& layout, const RunTiles& kv_tiles,
                const RunTile& q, std::int64_t head, int worker, const simd::Loops& loops) {
    const auto [T, S, Hq, Hk, D] = sizes_of(op);
    const std::int64_t kv_head = head / (Hq / Hk), row = q.token * Hq + head;
    const auto* v = op.v.as<float>() + kv_head * D;
    float* q_t = layout.q_t + worker * D * kTile;
    loops.transpose(op.q.as<float>() + row * D, Hq * D, q.count, D, q_t, kTile, kTile);
    simd::AttentionFwdTile tile{.rows = q.count,
                                .D = D,
                                .scale = static_cast<float>(op.scale),
                                .q_t = q_t,
                                .v_stride = Hk * D,
                                .acc = op.state.acc.as<float>() + row * D,
                                .acc_stride = Hq * D,
                                .m = op.state.m.as<float>() + row,
                                .l = op.state.l.as<float>() + row,
                                .stat_stride = Hq,
                                .p = layout.p + worker * kTile * kTile};
    kv_tiles.visit(0, kv_tiles.count(), [&](const RunTile& kv) {
        if (!sees(q, kv)) return;
        tile.keys = kv.count;
        tile.first_limit = first_limit(q, kv);
        tile.k_t = layout.k_t.tile(kv_head, kv);
        tile.k_t_stride = kv.count;
        tile.v = v + kv.token * tile.v_stride;
        loops.attention_fwd(tile);
    });
}

}  // namespace

void check(const AttentionBegin& op) {
    Dims dims("attention_begin");
    bind_state(dims, op.state);
}
void run(const AttentionBegin& op, Context& context) {
    run(FillZero{op.state.acc}, context);
    std::fill_n(op.state.m.as<float>(), op.state.m.num_elements(),
                -std::numeric_limits<float>::infinity());
    std::fill_n(op.state.l.as<float>(), op.state.l.num_elements(), 0.0f);
}

void check(const AttentionFwd& op) {
    Dims dims("attention_fwd");
    bind_state(dims, op.state);
    dims.bind<"T Hq D">(op.q, "q").bind<"S Hk D">(op.k, "k").bind<"S Hk D">(op.v, "v");
    check_attention("attention_fwd", op, dims);
}
Bytes scratch_bytes(const AttentionFwd& op, const Context& context) {
    Scratch scratch;
    const Layout layout(sizes_of(op), context.workers.count(), scratch);
    return scratch.used();
}
// Later tiles of a run see more: they go first, so that the threads end together.
void run(const AttentionFwd& op, Workspace workspace, Context& context) {
    Scratch scratch(workspace);
    const Layout layout(sizes_of(op), context.workers.count(), scratch);
    const RunTiles q_tiles(op.q_runs), kv_tiles(op.kv_runs);
    layout.k_t.fill(op.k, kv_tiles, context);
    const std::int64_t Hq = op.q.dim(1);
    context.workers.for_items(q_tiles.count() * Hq, [&](std::int64_t item, int worker) {
        const RunTile q = q_tiles.at(q_tiles.count() - 1 - item / Hq);
        query_tile(op, layout, kv_tiles, q, item % Hq, worker, context.loops);
    });
}

void check(const AttentionFinish& op) {
    Dims dims("attention_finish");
    bind_state(dims, op.state);
    dims.bind<"T Hq D">(op.out, "out").bind<"T Hq">(op.lse, "lse");
}
void run(const AttentionFinish& op, Context& context) {
    const auto *acc = op.state.acc.as<float>(), *m = op.state.m.as<float>();
    const auto* l = op.state.l.as<float>();
    auto *out = op.out.as<float>(), *lse = op.lse.as<float>();
    const std::int64_t D = op.out.dim(2);
    const auto rows = [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t row = first; row < first + count; ++row) {
            const bool seen = l[row] != 0;
            context.loops.scale(acc + row * D, seen ? 1 / l[row] : 0, out + row * D, D);
            lse[row] = seen ? static_cast<float>(m[row] * std::numbers::ln2 + std::log(l[row]))
                            : -std::numeric_limits<float>::infinity();
        }
    };
    context.workers.for_blocks(op.lse.num_elements(), kTile, rows);
}

void check(const AttentionDelta& op) {
    Dims dims("attention_delta");
    dims.bind<"T Hq D">(op.d_out, "d_out").bind<"T Hq D">(op.out, "out");
    dims.bind<"T Hq">(op.delta, "delta");
}
void run(const AttentionDelta& op, Context& context) {
    const auto *d_out = op.d_out.as<float>(), *out = op.out.as<float>();
    auto* delta = op.delta.as<float>();
    const std::int64_t D = op.out.dim(2);
    const auto rows = [&](std::int64_t first, std::int64_t count, int) {
        for (std::int64_t row = first; row < first + count; ++row)
            delta[row] = context.loops.dot(d_out + row * D, out + row * D, D);
    };
    context.workers.for_blocks(op.delta.num_elements(), kTile, rows);
}

}  // namespace rm::cpu
