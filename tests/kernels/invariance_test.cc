#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/attention/attention_cuts.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/op_cases.h"
#include "tests/support/some_cases.h"
#include "tests/support/zigzag_runs.h"

// Cutting an op at tile boundaries and changing the number of threads only move data, so no bit may
// change.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::int64_t kTile = kSmallestTile;

class Invariance : public ::testing::TestWithParam<Factory> {};

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
            kernels->run(fwd, h.workspace(fwd), h.stream());
            const LinearBwdInput bwd{
                .d_y = d_y.rows(t, count), .weight = &weight, .d_x = d_x.rows(t, count)};
            kernels->run(bwd, h.workspace(bwd), h.stream());
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

INSTANTIATE_TEST_SUITE_P(Cpu, ThreadCount, ::testing::ValuesIn(some(all_op_cases())),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Kernels, Invariance, ::testing::ValuesIn(kernel_factories()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
