#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/op_cases.h"

// Cutting an op at tile boundaries, and the number of threads, are data movement: no bit may
// change.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::int64_t kTile = 64;  // tokens; the smallest tile a job may choose

class Invariance : public ::testing::TestWithParam<Factory> {};

// Where the token dimension is cut.
struct Cut {
    std::vector<TokenRange> queries;
    std::vector<TokenRange> keys;
};

std::vector<TokenRange> uncut(const std::vector<Run>& runs) {
    return {{0, num_tokens(runs)}};
}

// Random chunks of whole tiles.
std::vector<TokenRange> random_chunks(const std::vector<Run>& runs, Rng& rng) {
    std::vector<TokenRange> chunks;
    std::vector<TokenRange> open;
    for (const TokenRange& tile : cut_tiles(runs, kTile)) {
        open.push_back(tile);
        if (rng.below(2) == 0) continue;
        chunks.push_back(cover(open));
        open.clear();
    }
    if (!open.empty()) chunks.push_back(cover(open));
    return chunks;
}

struct Attention {
    std::vector<Run> q_runs;
    std::vector<Run> kv_runs;
    std::int64_t Hq = 2, Hk = 1, D = 32;
};

// Keys outer, queries inner, both ascending.
Outputs run_attention(Kernels& kernels, const Attention& a, const Cut& cut) {
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
    kernels.attention_begin({.state = state}, h.stream());
    for_each_block([&](const auto& t, const auto& s, const auto& q_runs, const auto& kv_runs) {
        const AttentionFwd op{.state = {rows(state.acc, t), rows(state.m, t), rows(state.l, t)},
                              .q = rows(q, t),
                              .k = rows(k, s),
                              .v = rows(v, s),
                              .q_runs = q_runs,
                              .kv_runs = kv_runs,
                              .scale = scale};
        kernels.attention_fwd(op, h.workspace(op), h.stream());
    });
    kernels.attention_finish({.state = state, .out = out, .lse = lse}, h.stream());
    kernels.attention_delta({.d_out = d_out, .out = out, .delta = delta}, h.stream());
    for_each_block([&](const auto& t, const auto& s, const auto& q_runs, const auto& kv_runs) {
        const AttentionBwd op{.q = rows(q, t),
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
        kernels.attention_bwd(op, h.workspace(op), h.stream());
    });
    h.keep("acc", state.acc);
    h.keep("out", out);
    h.keep("lse", lse);
    h.keep("d_q", d_q);
    h.keep("d_k", d_k);
    h.keep("d_v", d_v);
    return h.outputs();
}

void expect_invariant(Kernels& kernels, const Attention& attention) {
    const Outputs whole =
        run_attention(kernels, attention, {uncut(attention.q_runs), uncut(attention.kv_runs)});
    const auto q_tiles = cut_tiles(attention.q_runs, kTile);
    const auto kv_tiles = cut_tiles(attention.kv_runs, kTile);
    expect_identical(run_attention(kernels, attention, {uncut(attention.q_runs), kv_tiles}), whole);
    expect_identical(run_attention(kernels, attention, {q_tiles, uncut(attention.kv_runs)}), whole);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(format("cut seed {}", seed));
        Rng rng(seed);
        const Cut cut{random_chunks(attention.q_runs, rng), random_chunks(attention.kv_runs, rng)};
        expect_identical(run_attention(kernels, attention, cut), whole);
    }
}

TEST_P(Invariance, CausalAttentionMayBeCutAtTiles) {
    const auto kernels = GetParam().make();
    expect_invariant(*kernels, {.q_runs = {{0, 0, 300}}, .kv_runs = {{0, 0, 300}}});
}

TEST_P(Invariance, AttentionOfManyOddHeadsMayBeCutAtTiles) {
    const auto kernels = GetParam().make();
    expect_invariant(
        *kernels, {.q_runs = {{0, 64, 197}}, .kv_runs = {{0, 0, 261}}, .Hq = 8, .Hk = 2, .D = 40});
}

TEST_P(Invariance, ZigzagAttentionMayBeCutAtTiles) {
    const auto kernels = GetParam().make();
    expect_invariant(*kernels, {.q_runs = zigzag_runs(500, 512, 2, 0, 0),
                                .kv_runs = zigzag_runs(500, 512, 2, 1, 0)});
    expect_invariant(*kernels, {.q_runs = zigzag_runs(500, 512, 2, 0, 0),
                                .kv_runs = zigzag_runs(500, 512, 2, 0, 0)});
}

TEST_P(Invariance, AttentionOverShortDocumentsMayBeCutAtTiles) {
    const auto kernels = GetParam().make();
    const std::vector<rm::Run> documents = {
        {0, 0, 70}, {1, 0, 30}, {2, 0, 129}, {kPaddingDocument, 0, 27}};
    expect_invariant(*kernels, {.q_runs = documents, .kv_runs = documents});
}

TEST_P(Invariance, LinearMayBeCutAnywhere) {
    const auto kernels = GetParam().make();
    constexpr std::int64_t kTokens = 300, kRows = 96, kColumns = 530;
    const auto run = [&](std::int64_t tile) {
        Harness h(*kernels, kSeed);
        const PreparedWeight& weight = h.prepared(kRows, kColumns);
        const TensorView x = h.input(Role::compute, {kTokens, kColumns});
        const TensorView d_y = h.input(Role::compute, {kTokens, kRows});
        const TensorView y = h.output(Role::compute, {kTokens, kRows});
        const TensorView d_x = h.output(Role::compute, {kTokens, kColumns});
        for (std::int64_t t = 0; t < kTokens; t += tile) {
            const std::int64_t count = std::min(tile, kTokens - t);
            const LinearFwd fwd{.x = x.rows(t, count), .weight = &weight, .y = y.rows(t, count)};
            kernels->linear_fwd(fwd, h.workspace(fwd), h.stream());
            const LinearBwdInput bwd{
                .d_y = d_y.rows(t, count), .weight = &weight, .d_x = d_x.rows(t, count)};
            kernels->linear_bwd_input(bwd, h.workspace(bwd), h.stream());
        }
        h.keep("y", y);
        h.keep("d_x", d_x);
        return h.outputs();
    };
    const Outputs whole = run(kTokens);
    expect_identical(run(kTile), whole);
    expect_identical(run(2 * kTile), whole);
    expect_identical(run(37), whole);
}

class ThreadCount : public ::testing::TestWithParam<OpCase> {};

TEST_P(ThreadCount, ChangesNoBit) {
    for (const DType compute : {DType::f32, DType::bf16}) {
        const auto one = make_cpu_kernels({.num_threads = 1, .compute = compute});
        const Outputs expected = run_case(GetParam(), *one, kSeed);
        for (const int num_threads : {2, 3}) {
            SCOPED_TRACE(format("{} threads, {}", num_threads, to_string(compute)));
            const auto several = make_cpu_kernels({.num_threads = num_threads, .compute = compute});
            expect_identical(run_case(GetParam(), *several, kSeed), expected);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Cpu, ThreadCount, ::testing::ValuesIn(all_op_cases()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Kernels, Invariance, ::testing::ValuesIn(kernel_factories()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
