#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/op_cases.h"

// Ranks with parts of a vocabulary or of the heads compute the same as one rank with all of them.
namespace rm::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSeed = 17;
constexpr std::int64_t kVocabulary = 61;

std::string name_of(const ::testing::TestParamInfo<Factory>& info) {
    return info.param.name;
}

std::vector<Factory> host_factories() {
    std::vector<Factory> factories = kernel_factories();
    std::erase_if(factories, [](const Factory& factory) {
        return factory.name != "ref" && !factory.name.starts_with("cpu");
    });
    return factories;
}

template <typename Queue>
std::string error_of(Harness& h, const Queue& queue) {
    try {
        queue();
        h.stream().synchronize();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "no error";
}

class CutVocabulary : public ::testing::TestWithParam<Factory> {};

// One rank holds each token's row and the others hold zeros, so the sum keeps the row's bits.
TEST_P(CutVocabulary, EmbeddingsOfAllPartsAddUpToThoseOfTheWhole) {
    constexpr std::int64_t T = 150, C = 40;
    const auto kernels = GetParam().make();
    const auto run = [&](std::int64_t G) {
        Harness h(*kernels, kSeed);
        const TensorView tokens = h.tokens(T, kVocabulary);
        const TensorView table = h.input(Role::master, {kVocabulary, C});
        const TensorView d_x = h.input(Role::compute, {T, C});
        const TensorView d_table = h.input(Role::accum, {kVocabulary, C});
        const TensorView parts = h.output(Role::compute, {G * T, C});
        const TensorView x = h.output(Role::compute, {T, C});
        for (std::int64_t g = 0; g < G; ++g) {
            const CutRows part = cut_rows(kVocabulary, G, g);
            const RowShare rows{part.first, kVocabulary};
            kernels->run(EmbeddingFwd{tokens, table.rows(part.first, part.count),
                                      parts.rows(g * T, T), rows},
                         h.stream());
            kernels->run(EmbeddingBwd{tokens, d_x, d_table.rows(part.first, part.count), rows},
                         h.stream());
        }
        kernels->run(SumParts{.parts = parts.reshaped({G, T, C}), .y = x}, h.stream());
        h.keep("x", x);
        h.keep("d_table", d_table);
        return h.outputs();
    };
    const Outputs whole = run(1);
    for (const std::int64_t G : {2, 3, 4})
        expect_identical(run(G), whole);
}

TEST_P(CutVocabulary, EmbeddingsFromATableInTheComputeTypeAreThoseFromTheMaster) {
    constexpr std::int64_t T = 70, C = 33;
    const auto kernels = GetParam().make();
    Harness h(*kernels, kSeed);
    const TensorView tokens = h.tokens(T, kVocabulary);
    const TensorView master = h.input(Role::master, {kVocabulary, C});
    const TensorView table = h.output(Role::compute, {kVocabulary, C});
    const TensorView from_master = h.output(Role::compute, {T, C});
    const TensorView from_table = h.output(Role::compute, {T, C});
    kernels->run(Copy{.from = master, .to = table}, h.stream());
    kernels->run(EmbeddingFwd{.tokens = tokens, .table = master, .x = from_master}, h.stream());
    kernels->run(EmbeddingFwd{.tokens = tokens, .table = table, .x = from_table}, h.stream());
    EXPECT_EQ(h.read(from_table), h.read(from_master));
}

TEST_P(CutVocabulary, WeightsPreparedFromTheComputeTypeAreThoseFromTheMaster) {
    constexpr std::int64_t T = 67, N = 130, K = 97;
    const auto kernels = GetParam().make();
    Harness h(*kernels, kSeed);
    const TensorView master = h.input(Role::master, {N, K});
    const TensorView weight = h.output(Role::compute, {N, K});
    kernels->run(Copy{.from = master, .to = weight}, h.stream());
    const TensorView x = h.input(Role::compute, {T, K}), d_y = h.input(Role::compute, {T, N});
    const auto run = [&](const TensorView& from) {
        const PreparedWeight& prepared = h.prepared(from);
        const LinearFwd fwd{.x = x, .weight = &prepared, .y = h.output(Role::compute, {T, N})};
        kernels->run(fwd, h.workspace(fwd), h.stream());
        const LinearBwdInput bwd{
            .d_y = d_y, .weight = &prepared, .d_x = h.output(Role::compute, {T, K})};
        kernels->run(bwd, h.workspace(bwd), h.stream());
        return std::pair(h.read(fwd.y), h.read(bwd.d_x));
    };
    EXPECT_EQ(run(weight), run(master));
}

struct HeadProblem {
    HeadProblem(Harness& h, std::int64_t T, std::int64_t C)
        : weight(h.input(Role::master, {kVocabulary, C}, 0.2)),
          x(h.input(Role::compute, {T, C}, 3)),
          targets(h.tokens(T, kVocabulary, kIgnoreTarget)),
          losses(h.output(Role::f64, {T})),
          loss_sum(h.filled(Role::f64, {1}, 0)) {}

    // Computes only the loss, from G parts.
    double loss_of_parts(Harness& h, std::int64_t G) const {
        const std::int64_t T = x.dim(0);
        const TensorView parts = h.output(Role::f64, {G * T, 3});
        for (std::int64_t g = 0; g < G; ++g) {
            const CutRows part = cut_rows(kVocabulary, G, g);
            const HeadStatistics op{.x = x,
                                    .head = &h.prepared(weight.rows(part.first, part.count)),
                                    .targets = targets,
                                    .rows = {part.first, kVocabulary},
                                    .statistics = parts.rows(g * T, T)};
            h.kernels().run(op, h.workspace(op), h.stream());
        }
        h.kernels().run(CombineHeadStatistics{.parts = parts.reshaped({G, T, 3}),
                                              .targets = targets,
                                              .lse = h.output(Role::f64, {T}),
                                              .losses = losses,
                                              .loss_sum = loss_sum},
                        h.stream());
        return h.read(loss_sum)[0];
    }
    double loss_of_whole(Harness& h) const {
        const LinearCrossEntropy op{.x = x,
                                    .head = &h.prepared(weight),
                                    .targets = targets,
                                    .losses = losses,
                                    .loss_sum = loss_sum};
        h.kernels().run(op, h.workspace(op), h.stream());
        return h.read(loss_sum)[0];
    }

    TensorView weight, x, targets, losses, loss_sum;
};

TEST_P(CutVocabulary, OnePartHasTheWholeLoss) {
    const auto kernels = GetParam().make();
    Harness whole(*kernels, kSeed), part(*kernels, kSeed);
    const HeadProblem of_whole(whole, 150, 24), of_part(part, 150, 24);
    const double loss = of_whole.loss_of_whole(whole);
    EXPECT_GT(loss, 0);
    EXPECT_EQ(of_part.loss_of_parts(part, 1), loss);
    EXPECT_EQ(part.read(of_part.losses), whole.read(of_whole.losses));
}

// The ops of the head differ only by the rounding of f32: 150 losses of about 8, whose logits are
// sums of 24 products.
TEST_P(CutVocabulary, SeveralPartsHaveTheWholeLoss) {
    const auto kernels = GetParam().make();
    Harness whole(*kernels, kSeed);
    const double loss = HeadProblem(whole, 150, 24).loss_of_whole(whole);
    for (const std::int64_t G : {2, 3, 4}) {
        Harness parts(*kernels, kSeed);
        EXPECT_NEAR(HeadProblem(parts, 150, 24).loss_of_parts(parts, G), loss, 1e-6 * loss);
    }
}

TEST_P(CutVocabulary, TokensWithoutTargetGiveNothing) {
    constexpr std::int64_t T = 5, C = 8;
    const auto kernels = GetParam().make();
    Harness h(*kernels, kSeed);
    const PreparedWeight& head = h.prepared(20, C);
    const TensorView x = h.input(Role::compute, {T, C});
    const TensorView targets = h.filled(Role::i32, {T}, kIgnoreTarget);
    const HeadStatistics statistics{.x = x,
                                    .head = &head,
                                    .targets = targets,
                                    .rows = {20, 40},
                                    .statistics = h.output(Role::f64, {T, 3})};
    kernels->run(statistics, h.workspace(statistics), h.stream());
    const TensorView lse = h.output(Role::f64, {T}), losses = h.output(Role::f64, {T});
    const TensorView loss_sum = h.filled(Role::f64, {1}, 0.5);
    kernels->run(CombineHeadStatistics{.parts = statistics.statistics.reshaped({1, T, 3}),
                                       .targets = targets,
                                       .lse = lse,
                                       .losses = losses,
                                       .loss_sum = loss_sum},
                 h.stream());
    const HeadBwd bwd{.x = x,
                      .head = &head,
                      .targets = targets,
                      .rows = {20, 40},
                      .lse = lse,
                      .d_x = h.output(Role::compute, {T, C}),
                      .d_head = h.filled(Role::accum, {20, C}, 2)};
    kernels->run(bwd, h.workspace(bwd), h.stream());
    EXPECT_EQ(h.read(statistics.statistics), std::vector<double>(3 * T, 0));
    EXPECT_EQ(h.read(lse), std::vector<double>(T, 0));
    EXPECT_EQ(h.read(losses), std::vector<double>(T, 0));
    EXPECT_EQ(h.read(loss_sum)[0], 0.5);
    EXPECT_EQ(h.read(bwd.d_x), std::vector<double>(T * C, 0));
    EXPECT_EQ(h.read(bwd.d_head), std::vector<double>(20 * C, 2));
}

// Uses more tokens than a device sums in one launch; each has m, sum and target logit 1 twice.
TEST_P(CutVocabulary, StatisticsOfManyTokensAreCombined) {
    constexpr std::int64_t T = 4096 + 100, G = 2;
    const auto kernels = GetParam().make();
    Harness h(*kernels, kSeed);
    const CombineHeadStatistics op{.parts = h.filled(Role::f64, {G, T, 3}, 1),
                                   .targets = h.filled(Role::i32, {T}, 0),
                                   .lse = h.output(Role::f64, {T}),
                                   .losses = h.output(Role::f64, {T}),
                                   .loss_sum = h.filled(Role::f64, {1}, 0)};
    kernels->run(op, h.stream());
    const double lse = 1 + std::log(2.0);
    for (const double each : h.read(op.lse))
        ASSERT_NEAR(each, lse, 1e-15);
    for (const double each : h.read(op.losses))
        ASSERT_NEAR(each, lse - 2, 1e-15);
    EXPECT_NEAR(h.read(op.loss_sum)[0], T * (lse - 2), 1e-9);
}

// The larger statistic decides, whichever rank has it: the other's powers vanish beside it.
TEST_P(CutVocabulary, StatisticsFarApartAreCombined) {
    constexpr std::int64_t T = 70;
    const auto kernels = GetParam().make();
    for (const double first : {-1000, 1000}) {
        Harness h(*kernels, kSeed);
        const TensorView parts = h.output(Role::f64, {2, T, 3});
        for (const std::int64_t g : {0, 1}) {
            const TensorView numbers = h.filled(Role::f64, {1, T, 3}, g == 0 ? first : -first);
            kernels->run(Copy{.from = numbers, .to = parts.rows(g, 1)}, h.stream());
        }
        const TensorView lse = h.output(Role::f64, {T});
        kernels->run(CombineHeadStatistics{.parts = parts,
                                           .targets = h.filled(Role::i32, {T}, 0),
                                           .lse = lse,
                                           .losses = h.output(Role::f64, {T}),
                                           .loss_sum = h.filled(Role::f64, {1}, 0)},
                     h.stream());
        EXPECT_EQ(h.read(lse), std::vector<double>(T, 1000 + std::log(1000.0)));
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, CutVocabulary, ::testing::ValuesIn(kernel_factories()), name_of);

class WrongIds : public ::testing::TestWithParam<Factory> {};

TEST_P(WrongIds, AreErrorsThatNameThem) {
    const auto kernels = GetParam().make();
    const auto with_id = [&](const auto& queue) {
        Harness h(*kernels, kSeed);
        const TensorView ids = h.filled(Role::i32, {2}, 40);
        return error_of(h, [&] { queue(h, ids); });
    };
    const RowShare rows{10, 40};
    EXPECT_THAT(with_id([&](Harness& h, const TensorView& ids) {
                    kernels->run(EmbeddingFwd{.tokens = ids,
                                              .table = h.input(Role::master, {20, 8}),
                                              .x = h.output(Role::compute, {2, 8}),
                                              .rows = rows},
                                 h.stream());
                }),
                HasSubstr("token 40 at 0 is outside the vocabulary of 40"));
    EXPECT_THAT(with_id([&](Harness& h, const TensorView& ids) {
                    const HeadStatistics op{.x = h.input(Role::compute, {2, 8}),
                                            .head = &h.prepared(20, 8),
                                            .targets = ids,
                                            .rows = rows,
                                            .statistics = h.output(Role::f64, {2, 3})};
                    kernels->run(op, h.workspace(op), h.stream());
                }),
                HasSubstr("target 40 at 0 is outside the vocabulary of 40"));
    EXPECT_THAT(with_id([&](Harness& h, const TensorView& ids) {
                    const HeadBwd op{.x = h.input(Role::compute, {2, 8}),
                                     .head = &h.prepared(20, 8),
                                     .targets = ids,
                                     .rows = rows,
                                     .lse = h.filled(Role::f64, {2}, 1),
                                     .d_x = h.output(Role::compute, {2, 8}),
                                     .d_head = h.filled(Role::accum, {20, 8}, 0)};
                    kernels->run(op, h.workspace(op), h.stream());
                }),
                HasSubstr("target 40 at 0 is outside the vocabulary of 40"));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WrongIds);  // with RM_KERNELS=emu
INSTANTIATE_TEST_SUITE_P(Kernels, WrongIds, ::testing::ValuesIn(host_factories()), name_of);

void expect_close(const Values& x, const Values& y, double tolerance) {
    ASSERT_EQ(x.numbers.size(), y.numbers.size());
    for (std::size_t i = 0; i < x.numbers.size(); ++i)
        ASSERT_NEAR(x.numbers[i], y.numbers[i], tolerance) << "element " << i;
}

// Compares the oracle's parts with its whole. EveryOp compares all other backends with its parts.
TEST(RefHead, InPartsIsTheLinearCrossEntropy) {
    constexpr std::int64_t T = 50, C = 12;
    const auto kernels = make_ref_kernels();
    const Outputs whole = run_case(
        {"whole", [&](Harness& h) { loss_and_gradients(h, T, C, kVocabulary); }}, *kernels, kSeed);
    Harness h(*kernels, kSeed);
    const double loss = HeadProblem(h, T, C).loss_of_whole(h);
    for (const std::int64_t G : {1, 2, 3, 4}) {
        SCOPED_TRACE(format("{} parts", G));
        const Outputs parts =
            run_case({"parts", [&](Harness& h) { head_in_parts(h, T, C, kVocabulary, G); }},
                     *kernels, kSeed);
        expect_close(parts.at("d_x"), whole.at("d_x"), 1e-12);
        expect_close(parts.at("d_head"), whole.at("d_head"), 1e-12);
        Harness in_parts(*kernels, kSeed);
        EXPECT_NEAR(HeadProblem(in_parts, T, C).loss_of_parts(in_parts, G), loss, 1e-12 * loss);
    }
}

class CutHeads : public ::testing::TestWithParam<Factory> {};

// Four ranks hold unequal numbers of the six heads.
TEST_P(CutHeads, JoinedAreTheWhole) {
    constexpr std::int64_t T = 35, H = 6;
    const auto kernels = GetParam().make();
    for (const std::int64_t D : {1, 5, 16}) {
        for (const Role role : {Role::compute, Role::accum}) {
            Harness h(*kernels, kSeed);
            const TensorView whole = h.input(role, {T, H, D}), joined = h.output(role, {T, H, D});
            for (std::int64_t g = 0; g < 4; ++g) {
                const CutRows heads = cut_rows(H, 4, g);
                const TensorView part = h.output(role, {T, heads.count, D});
                kernels->run(
                    CopyHeads{
                        .from = whole, .to = part, .from_first = heads.first, .count = heads.count},
                    h.stream());
                kernels->run(
                    CopyHeads{
                        .from = part, .to = joined, .to_first = heads.first, .count = heads.count},
                    h.stream());
            }
            EXPECT_EQ(h.read(joined), h.read(whole)) << D << " numbers a head";
        }
    }
}

TEST_P(CutHeads, LeaveOtherHeadsAlone) {
    const auto kernels = GetParam().make();
    Harness h(*kernels, kSeed);
    const TensorView from = h.filled(Role::compute, {3, 1, 2}, 7);
    const TensorView to = h.filled(Role::accum, {3, 3, 2}, 1);
    const CopyHeads op{.from = from, .to = to, .to_first = 1, .count = 1, .into = Into::add};
    kernels->run(op, h.stream());
    const std::vector<double> token = {1, 1, 8, 8, 1, 1};
    std::vector<double> expected;
    for (int t = 0; t < 3; ++t)
        expected.insert(expected.end(), token.begin(), token.end());
    EXPECT_EQ(h.read(to), expected);
    EXPECT_EQ(h.read(from), std::vector<double>(6, 7));
}

// Adds half a unit in the last place of bf16 three times to 1. Rounded once, the one and a half
// units become two; rounded after each addition, the sum stays 1.
TEST_P(CutHeads, SumsOfPartsAreRoundedOnce) {
    constexpr std::int64_t kSize = 70;
    const auto kernels = GetParam().make();
    const bool rounds = kernels->types().compute == DType::bf16;
    Harness h(*kernels, kSeed);
    const TensorView parts = h.filled(Role::compute, {3, kSize}, 1.0 / 256);
    const TensorView y = h.filled(Role::compute, {kSize}, 1);
    kernels->run(SumParts{.parts = parts, .y = y, .into = Into::add}, h.stream());
    EXPECT_EQ(h.read(y), std::vector<double>(kSize, 1 + (rounds ? 4.0 : 3.0) / 256));
    kernels->run(SumParts{.parts = parts, .y = y}, h.stream());
    EXPECT_EQ(h.read(y), std::vector<double>(kSize, 3.0 / 256));
}

// In f32 (large + 1) - large is 0 and (large - large) + 1 is 1, so the order of the parts shows.
TEST_P(CutHeads, SumsOfPartsHaveTheirOrder) {
    const auto kernels = GetParam().make();
    const double large = kernels->types().accum == DType::f64 ? 0x1p60 : 0x1p30;
    Harness h(*kernels, kSeed);
    const TensorView parts = h.output(Role::accum, {3, 9});
    const auto put = [&](std::int64_t g, double value) {
        kernels->run(Copy{.from = h.filled(Role::accum, {1, 9}, value), .to = parts.rows(g, 1)},
                     h.stream());
    };
    put(0, large);
    put(1, 1);
    put(2, -large);
    const TensorView y = h.output(Role::accum, {9});
    kernels->run(SumParts{.parts = parts, .y = y}, h.stream());
    EXPECT_EQ(h.read(y), std::vector<double>(9, 0));
    put(1, -large);
    put(2, 1);
    kernels->run(SumParts{.parts = parts, .y = y}, h.stream());
    EXPECT_EQ(h.read(y), std::vector<double>(9, 1));
}

TEST_P(CutHeads, OutsideATensorAreErrors) {
    const auto kernels = GetParam().make();
    Harness h(*kernels, kSeed);
    const CopyHeads op{.from = h.input(Role::compute, {3, 4, 2}),
                       .to = h.input(Role::compute, {3, 2, 2}),
                       .from_first = 1,
                       .to_first = 0,
                       .count = 3};
    EXPECT_THAT(error_of(h, [&] { kernels->run(op, h.stream()); }), HasSubstr("heads"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, CutHeads, ::testing::ValuesIn(kernel_factories()), name_of);

}  // namespace
}  // namespace rm::test
