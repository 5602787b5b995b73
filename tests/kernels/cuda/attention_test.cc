#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "kernels/emu/emu_kernels.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/attention/attention_8bit_problem.h"
#include "tests/kernels/attention/attention_cuts.h"
#include "tests/kernels/naive.h"
#include "tests/support/zigzag_runs.h"

// Attention of the device kernels under the emulator: both head sizes and every shape of block.
namespace rm::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Runs = std::vector<rm::Run>;

constexpr std::uint64_t kSeed = 23;
constexpr std::uint64_t kNumSchedules = 8;
// A GPU of one multiprocessor needs few blocks, so the launcher takes wide ones.
const GpuProfile kWide{.num_sms = 1};
const GpuProfile kNarrow{.num_sms = 1 << 20};

std::vector<OpCase> cases() {
    const Runs causal = {{0, 0, 150}};
    const Runs documents = {
        {0, 0, 67}, {kPaddingDocument, 0, 9}, {1, 5, 3}, {2, 0, 70}, {kPaddingDocument, 0, 2}};
    const auto ring = zigzag_blocks(290, 296, 2, 0);  // slot 0 holds the padding
    return {
        attention_case("causal_64", {{2, 2, 64}, causal, {causal}}),
        attention_case("causal_128", {{2, 2, 128}, causal, {causal}}),
        attention_case("full_128", {{2, 2, 128}, {{0, 200, 65}}, {{{0, 0, 100}}}}),
        attention_case("four_heads_share_keys_128", {{4, 1, 128}, {{0, 3, 77}}, {{{0, 0, 141}}}}),
        attention_case("eight_heads_share_keys_64", {{8, 1, 64}, {{0, 0, 72}}, {{{0, 0, 72}}}}),
        attention_case("head_of_40", {{4, 2, 40}, {{0, 0, 133}}, {{{0, 0, 133}}}}),
        attention_case("head_of_104", {{1, 1, 104}, {{0, 0, 67}}, {{{0, 0, 67}}}}),
        attention_case("documents_64", {{2, 1, 64}, documents, {documents}}),
        attention_case("documents_128", {{2, 1, 128}, documents, {documents}}),
        attention_case("zigzag_64", {{2, 1, 64}, ring.front(), ring}),
        attention_case("nobody_sees_128",
                       {{4, 1, 128}, {{0, 0, 65}}, {{{0, 65, 40}}, {{0, 0, 65}}, {{1, 0, 30}}}}),
        attention_8bit_case("causal_64", {{{2, 2, 64}, causal, {causal}}}),
        attention_8bit_case("four_heads_share_keys_128",
                            {{{4, 1, 128}, {{0, 3, 77}}, {{{0, 0, 141}}}}}),
        attention_8bit_case("head_of_104", {{{4, 1, 104}, {{0, 0, 67}}, {{{0, 0, 67}}}}}),
        attention_8bit_case("documents_128", {{{2, 1, 128}, documents, {documents}}}),
    };
}

Outputs run_emu(const OpCase& op_case, const EmuOptions& options) {
    return run_case(op_case, *make_emu_kernels(options), kSeed, DType::bf16);
}

struct Yardstick {
    explicit Yardstick(const OpCase& op_case) {
        NaiveKernels<float, Bf16> naive;
        r = run_case(op_case, *make_ref_kernels(), kSeed, DType::bf16);
        n = run_case(op_case, naive, kSeed, DType::bf16);
    }
    void expect_as_good(const Outputs& x) const { expect_as_good_as_naive(x, r, n); }
    Outputs r, n;
};

class EmuAttention : public ::testing::TestWithParam<OpCase> {};

TEST_P(EmuAttention, IsAsCloseToTheOracleAsTheNaiveLoops) {
    const Outputs x = run_emu(GetParam(), {.profile = kWide});
    Yardstick(GetParam()).expect_as_good(x);
}

TEST_P(EmuAttention, GivesTheSameBitsOnEveryScheduleInBlocksOfAnyShape) {
    const Outputs lock_step = run_emu(GetParam(), {.profile = kWide});
    for (std::uint64_t seed = 0; seed < kNumSchedules; ++seed) {
        SCOPED_TRACE(format("schedule {}", seed));
        const GpuProfile& profile = seed % 2 == 0 ? kNarrow : kWide;
        expect_identical(run_emu(GetParam(), {.seed = seed, .profile = profile}), lock_step);
    }
}

TEST_P(EmuAttention, MaySumQueryGradientsByAtomics) {
    const Yardstick yardstick(GetParam());
    const Outputs ordered = run_emu(GetParam(), {});
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
        SCOPED_TRACE(format("schedule {}", seed));
        Outputs x = run_emu(GetParam(), {.seed = seed, .reproducible = false});
        yardstick.expect_as_good(x);
        x.erase("d_q");
        Outputs others = ordered;
        others.erase("d_q");
        expect_identical(x, others);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, EmuAttention, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name.substr(10); });

class EmuAttentionCuts : public ::testing::TestWithParam<GpuProfile> {
protected:
    void expect_cuts_change_no_bit(const CutAttention& attention) {
        expect_invariant(*make_emu_kernels({.seed = 2, .profile = GetParam()}), attention);
    }
};

TEST_P(EmuAttentionCuts, OfCausalAttentionChangeNoBit) {
    const Runs causal = {{0, 0, 200}};
    expect_cuts_change_no_bit({causal, causal, 1, 1, 128});
    expect_cuts_change_no_bit({causal, causal, 4, 1, 64});
    expect_cuts_change_no_bit({causal, causal, 2, 1, 128, AttentionProducts::eight_bit});
}

TEST_P(EmuAttentionCuts, OfZigzagPiecesAndDocumentsChangeNoBit) {
    const Runs zigzag = zigzag_runs(380, 384, 2, 0, 0);
    expect_cuts_change_no_bit({zigzag, zigzag_runs(380, 384, 2, 1, 0), 2, 1, 64});
    const Runs documents = {{0, 0, 70}, {1, 0, 30}, {2, 64, 129}, {kPaddingDocument, 0, 27}};
    expect_cuts_change_no_bit({documents, documents, 2, 2, 40});
}

INSTANTIATE_TEST_SUITE_P(Shapes, EmuAttentionCuts, ::testing::Values(kWide, kNarrow),
                         [](const auto& info) { return info.index == 0 ? "wide" : "narrow"; });

// The launcher splits a call with more runs than the kernel parameters hold into several launches.
TEST(EmuAttention, OfManyDocumentsIsAttentionOfEach) {
    constexpr std::int64_t kDocuments = 250, D = 64;
    Runs runs;
    for (int i = 0; i < kDocuments; ++i)
        runs.push_back({i, 0, 1 + i % 3});
    const CutAttention attention{runs, runs, 1, 1, D};
    const auto kernels = make_emu_kernels({.seed = 1});
    const std::int64_t T = num_tokens(runs), half = T / 2;
    const Cut whole{{{0, T}}, {{0, T}}};
    const Cut halves{{{0, half}, {half, T - half}}, {{0, half}, {half, T - half}}};
    const OpCase many = attention_case("many_documents", {{1, 1, D}, runs, {runs}});
    Yardstick(many).expect_as_good(run_emu(many, {}));
    expect_identical(run_attention(*kernels, attention, whole),
                     run_attention(*kernels, attention, halves));
}

// More blocks of keys than are rounded at a time.
TEST(EmuAttention, In8BitsTakesMoreKeysThanItsWorkspaceHolds) {
    const std::int64_t S = 64 * 128 + 70;
    const OpCase op_case =
        attention_8bit_case("", {{{16, 1, 64}, {{0, S - 16, 16}}, {{{0, 0, S}}}}});
    Yardstick(op_case).expect_as_good(run_emu(op_case, {}));
}

// Covers scores whose exp is out of range, and rows that see no key.
TEST(EmuAttention, StaysFiniteWhereScoresAreOutOfRange) {
    const Runs runs = {{0, 0, 90}, {kPaddingDocument, 0, 11}};
    for (const auto scores : {AttentionScores::huge, AttentionScores::very_negative}) {
        for (const bool reproducible : {true, false}) {
            const OpCase op_case = attention_case("", {{4, 2, 128}, runs, {runs}, scores});
            for (const auto& [name, x] :
                 run_emu(op_case, {.seed = 3, .reproducible = reproducible})) {
                for (std::size_t i = 0; i < x.numbers.size(); ++i) {
                    const bool padding = name == "lse" && i >= 90 * 4;
                    ASSERT_EQ(std::isfinite(x.numbers[i]), !padding) << name << " " << i;
                }
            }
        }
    }
}

TEST(EmuAttention, GivesPaddingZerosAndLeavesItsGradientsAlone) {
    constexpr std::size_t kPadding = 40, kHeads = 8, kD = 64;
    const Runs runs = {{kPaddingDocument, 0, kPadding}, {3, 0, 30}};
    const OpCase op_case = attention_case("", {{kHeads, 1, kD}, runs, {runs}});
    const Yardstick yardstick(op_case);
    const Outputs x = run_emu(op_case, {});
    yardstick.expect_as_good(x);
    for (std::size_t i = 0; i < kPadding * kHeads; ++i)
        ASSERT_EQ(x.at("lse").numbers[i], -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < kPadding * kHeads * kD; ++i) {
        ASSERT_EQ(x.at("out").numbers[i], 0);
        ASSERT_EQ(x.at("d_q").numbers[i], yardstick.r.at("d_q").numbers[i]);
    }
    for (std::size_t i = 0; i < kPadding * kD; ++i) {
        ASSERT_EQ(x.at("d_k0").numbers[i], yardstick.r.at("d_k0").numbers[i]);
        ASSERT_EQ(x.at("d_v0").numbers[i], yardstick.r.at("d_v0").numbers[i]);
    }
}

TEST(EmuAttention, SaysWhatItChose) {
    std::ostringstream said;
    const Runs runs = {{0, 0, 40}};
    run_emu(attention_case("", {{8, 8, 128}, runs, {runs}}), {.explain = &said});
    EXPECT_THAT(said.str(), HasSubstr("attention_fwd 64x64, 4 warps, 1 stage, D up to 128"));
    EXPECT_THAT(said.str(), HasSubstr("attention_bwd 128x32, 8 warps, ordered, D up to 128"));
}

TEST(EmuAttention, RefusesWhatItCannotReadSixteenBytesAtATime) {
    const auto kernels = make_emu_kernels();
    Harness h(*kernels, kSeed);
    const auto run = [&](std::int64_t D, std::int64_t offset) {
        const TensorView all = h.input(Role::compute, {2, 1, 144});
        const TensorView q(all.as<std::uint16_t>() + offset, DType::bf16, {1, 1, D});
        const AttentionState state{.acc = h.output(Role::accum, {1, 1, D}),
                                   .m = h.output(Role::accum, {1, 1}),
                                   .l = h.output(Role::accum, {1, 1})};
        const Runs runs = {{0, 0, 1}};
        kernels->run(
            AttentionFwd{.state = state, .q = q, .k = q, .v = q, .q_runs = runs, .kv_runs = runs},
            {}, h.stream());
    };
    EXPECT_THAT([&] { run(64, 4); }, ThrowsMessage<CheckError>(HasSubstr("multiple of 16 bytes")));
    EXPECT_THAT([&] { run(136, 0); }, ThrowsMessage<CheckError>(HasSubstr("heads of D = 136")));
}

}  // namespace
}  // namespace rm::test
