#include "tests/kernels/attention/attention_cuts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 11;

std::vector<TokenRange> uncut(const std::vector<Run>& runs) {
    return {{0, num_tokens(runs)}};
}

// Random chunks, each a whole number of tiles.
std::vector<TokenRange> random_chunks(const std::vector<Run>& runs, Rng& rng) {
    std::vector<TokenRange> chunks;
    std::vector<TokenRange> open;
    for (const TokenRange& tile : cut_tiles(runs, kSmallestTile)) {
        open.push_back(tile);
        if (rng.below(2) == 0) continue;
        chunks.push_back(cover(open));
        open.clear();
    }
    if (!open.empty()) chunks.push_back(cover(open));
    return chunks;
}

template <AttentionProducts kProducts>
Outputs run_cut(Kernels& kernels, const CutAttention& a, const Cut& cut) {
    Harness h(kernels, kSeed);
    const std::int64_t T = num_tokens(a.q_runs), S = num_tokens(a.kv_runs);
    const double scale = 1 / std::sqrt(static_cast<double>(a.D));
    const TensorView q = h.input(Role::compute, {T, a.Hq, a.D}, 1.5);
    const TensorView k = h.input(Role::compute, {S, a.Hk, a.D}, 1.5);
    const TensorView v = h.input(Role::compute, {S, a.Hk, a.D});
    const TensorView d_out = h.input(Role::compute, {T, a.Hq, a.D});
    const TensorView d_q = h.filled(Role::accum, {T, a.Hq, a.D}, 0);
    const TensorView d_k = h.filled(Role::accum, {S, a.Hk, a.D}, 0);
    const TensorView d_v = h.filled(Role::accum, {S, a.Hk, a.D}, 0);
    const AttentionState state{.acc = h.output(Role::accum, {T, a.Hq, a.D}),
                               .m = h.output(Role::accum, {T, a.Hq}),
                               .l = h.output(Role::accum, {T, a.Hq})};
    const TensorView out = h.output(Role::compute, {T, a.Hq, a.D});
    const TensorView lse = h.output(Role::accum, {T, a.Hq});
    const TensorView delta = h.output(Role::accum, {T, a.Hq});

    const auto for_each_block = [&](const auto& visit) {
        for (const TokenRange& s : cut.keys) {
            for (const TokenRange& t : cut.queries) {
                const auto q_runs = slice_runs(a.q_runs, t.first, t.count);
                const auto kv_runs = slice_runs(a.kv_runs, s.first, s.count);
                visit(t, s, q_runs, kv_runs);
                h.stream().synchronize();  // the op borrows these runs
            }
        }
    };
    const auto rows = [](const TensorView& x, const TokenRange& r) {
        return x.rows(r.first, r.count);
    };
    kernels.run(AttentionBegin{.state = state}, h.stream());
    for_each_block([&](const auto& t, const auto& s, const auto& q_runs, const auto& kv_runs) {
        const AttentionForwardOp<kProducts> op{
            .state = {rows(state.acc, t), rows(state.m, t), rows(state.l, t)},
            .q = rows(q, t),
            .k = rows(k, s),
            .v = rows(v, s),
            .q_runs = q_runs,
            .kv_runs = kv_runs,
            .scale = scale};
        kernels.run(op, h.workspace(op), h.stream());
    });
    kernels.run(AttentionFinish{.state = state, .out = out, .lse = lse}, h.stream());
    kernels.run(AttentionDelta{.d_out = d_out, .out = out, .delta = delta}, h.stream());
    for_each_block([&](const auto& t, const auto& s, const auto& q_runs, const auto& kv_runs) {
        const AttentionBackwardOp<kProducts> op{.q = rows(q, t),
                                                .k = rows(k, s),
                                                .v = rows(v, s),
                                                .d_out = rows(d_out, t),
                                                .lse = rows(lse, t),
                                                .delta = rows(delta, t),
                                                .q_runs = q_runs,
                                                .kv_runs = kv_runs,
                                                .scale = scale,
                                                .d_q = rows(d_q, t),
                                                .d_k = rows(d_k, s),
                                                .d_v = rows(d_v, s)};
        kernels.run(op, h.workspace(op), h.stream());
    });
    h.keep("acc", state.acc);
    h.keep("out", out);
    h.keep("lse", lse);
    h.keep("d_q", d_q);
    h.keep("d_k", d_k);
    h.keep("d_v", d_v);
    return h.outputs();
}

}  // namespace

Outputs run_attention(Kernels& kernels, const CutAttention& a, const Cut& cut) {
    return a.products == AttentionProducts::compute
               ? run_cut<AttentionProducts::compute>(kernels, a, cut)
               : run_cut<AttentionProducts::eight_bit>(kernels, a, cut);
}

void expect_invariant(Kernels& kernels, const CutAttention& attention) {
    const Outputs whole =
        run_attention(kernels, attention, {uncut(attention.q_runs), uncut(attention.kv_runs)});
    const auto q_tiles = cut_tiles(attention.q_runs, kSmallestTile);
    const auto kv_tiles = cut_tiles(attention.kv_runs, kSmallestTile);
    expect_identical(run_attention(kernels, attention, {uncut(attention.q_runs), kv_tiles}), whole);
    expect_identical(run_attention(kernels, attention, {q_tiles, uncut(attention.kv_runs)}), whole);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(format("cut seed {}", seed));
        Rng rng(seed);
        const Cut cut{random_chunks(attention.q_runs, rng), random_chunks(attention.kv_runs, rng)};
        expect_identical(run_attention(kernels, attention, cut), whole);
    }
}

}  // namespace rm::test
