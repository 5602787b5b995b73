#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/ref_runner.h"

// Covers cases beyond central differences: known values, masks, edges and errors.
namespace rm::test {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

class RefOps : public ::testing::Test {
protected:
    template <typename Queue>
    std::string error_of(const Queue& queue) {
        RefRunner fresh;  // a stream's first error is its last
        try {
            fresh.run(queue);
        } catch (const StreamError& error) {
            return error.what();
        }
        return "no error";
    }
    RefRunner ref_;
};

TEST_F(RefOps, LinearIsTheMatrixProduct) {
    Vector w = {1, 2, 3, 4, 5, 6}, x = {1, 10}, y = {100, 100, 100};
    const auto weight = ref_.prepare(w, 3, 2);
    EXPECT_EQ(weight->num_rows(), 3);
    EXPECT_EQ(weight->num_columns(), 2);
    LinearFwd op{
        .x = view(x, {1, 2}), .weight = weight.get(), .y = view(y, {1, 3}), .into = Into::add};
    ref_.run([&](Kernels& k, Stream& s) { k.run(op, {}, s); });
    EXPECT_EQ(y, (Vector{121, 143, 165}));
    op.into = Into::overwrite;
    ref_.run([&](Kernels& k, Stream& s) { k.run(op, {}, s); });
    EXPECT_EQ(y, (Vector{21, 43, 65}));
}

TEST_F(RefOps, APreparedWeightIsACopy) {
    Vector w = {2}, x = {3}, y(1);
    const auto weight = ref_.prepare(w, 1, 1);
    w[0] = 100;
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(LinearFwd{.x = view(x, {1, 1}), .weight = weight.get(), .y = view(y, {1, 1})}, {}, s);
    });
    EXPECT_EQ(y[0], 6);
    EXPECT_EQ(ref_.kernels().prepared_bytes(3, 5, WeightForm::compute), Bytes{120});
}

TEST_F(RefOps, RopeAnglesAreExactFarOut) {
    const std::vector<rm::Run> runs = {{0, 4'000'000, 1}};
    const Vector inv_freq = {1.0, 1e-3};
    Vector cos(2), sin(2);
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(RopeTable{.runs = runs,
                        .inv_freq = inv_freq,
                        .cos = view(cos, {1, 2}),
                        .sin = view(sin, {1, 2})},
              s);
    });
    // libm reduces such angles exactly; in f32 the error would be 0.2. The remaining error is the
    // rounding of 2 pi times the number of turns.
    EXPECT_NEAR(cos[0], std::cos(4e6), 1e-9);
    EXPECT_NEAR(sin[0], std::sin(4e6), 1e-9);
    EXPECT_NEAR(cos[0] * cos[0] + sin[0] * sin[0], 1, 1e-15);
}

TEST_F(RefOps, RopeKeepsScoresRelative) {
    const Vector inv_freq = {1.0, 0.1};
    const auto score = [&](std::int64_t q_position, std::int64_t k_position) {
        Vector q = {1, 2, 3, 4}, k = {4, -1, 2, 0.5}, cos(2), sin(2);
        for (auto [x, position] : {std::pair{&q, q_position}, std::pair{&k, k_position}}) {
            const std::vector<rm::Run> runs = {{0, position, 1}};
            ref_.run([&](Kernels& kernels, Stream& s) {
                kernels.run(RopeTable{.runs = runs,
                                      .inv_freq = inv_freq,
                                      .cos = view(cos, {1, 2}),
                                      .sin = view(sin, {1, 2})},
                            s);
                kernels.run(RopeApply{.x = view(*x, {1, 1, 4}),
                                      .cos = view(cos, {1, 2}),
                                      .sin = view(sin, {1, 2})},
                            s);
            });
        }
        return weighted_sum(q, k);
    };
    EXPECT_NEAR(score(7, 3), score(107, 103), 1e-12);
    EXPECT_GT(std::abs(score(7, 3) - score(7, 4)), 1e-3);
}

TEST_F(RefOps, LossOfUniformLogitsIsTheLogarithmOfTheVocabulary) {
    Vector w(8 * 2), x = {1, 2, 3, 4}, losses = {99, 99}, sum = {0.5};
    std::vector<std::int32_t> targets = {7, kIgnoreTarget};
    const auto head = ref_.prepare(w, 8, 2);
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(LinearCrossEntropy{.x = view(x, {2, 2}),
                                 .head = head.get(),
                                 .targets = TensorView(targets.data(), DType::i32, {2}),
                                 .scale = 0.125,
                                 .losses = view(losses, {2}),
                                 .loss_sum = view(sum, {1})},
              {}, s);
    });
    EXPECT_NEAR(losses[0], std::log(8.0), 1e-15);
    EXPECT_EQ(losses[1], 0);
    EXPECT_NEAR(sum[0], 0.5 + std::log(8.0), 1e-15);
}

TEST_F(RefOps, RowsWithoutTargetHaveNoGradient) {
    Rng rng(1);
    Vector w = random_vector(rng, 8), x = random_vector(rng, 4), d_x(4, 99), d_w(8);
    Vector losses(2, 99), sum(1);
    std::vector<std::int32_t> targets = {kIgnoreTarget, kIgnoreTarget};
    const auto head = ref_.prepare(w, 4, 2);
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(LinearCrossEntropy{.x = view(x, {2, 2}),
                                 .head = head.get(),
                                 .targets = TensorView(targets.data(), DType::i32, {2}),
                                 .losses = view(losses, {2}),
                                 .loss_sum = view(sum, {1}),
                                 .d_x = view(d_x, {2, 2}),
                                 .d_head = view(d_w, {4, 2})},
              {}, s);
    });
    EXPECT_EQ(losses, Vector(2, 0));
    EXPECT_EQ(sum[0], 0);
    EXPECT_EQ(d_x, Vector(4, 0));
    EXPECT_EQ(d_w, Vector(8, 0));
}

TEST_F(RefOps, ClipFactorLimitsTheNorm) {
    const auto clip = [&](double sum, double max_norm) {
        Vector in = {sum}, out(3);
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(ClipFactor{.sum = view(in, {1}), .max_norm = max_norm, .out = view(out, {3})}, s);
        });
        return out;
    };
    EXPECT_EQ(clip(16, 1), (Vector{4, 0.25, 1}));
    EXPECT_EQ(clip(16, 8), (Vector{4, 1, 1}));
    EXPECT_EQ(clip(16, 0), (Vector{4, 1, 1}));
    EXPECT_EQ(clip(0, 1), (Vector{0, 1, 1}));
    EXPECT_EQ(clip(kInf, 1)[2], 0);
    EXPECT_EQ(clip(std::nan(""), 1)[2], 0);
}

TEST_F(RefOps, ClipFactorIsNotFiniteWhereRoundingMetWhatIsNot) {
    for (const double nonfinite : {0.0, 1.0}) {
        Vector in = {16}, out(3), effects(2 * kFp8EffectNumbers, 5);
        effects[3] = 0;
        effects[kFp8EffectNumbers + 3] = nonfinite;
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(ClipFactor{.sum = view(in, {1}),
                             .out = view(out, {3}),
                             .effects = view(effects, {2 * kFp8EffectNumbers})},
                  s);
        });
        EXPECT_EQ(out, (Vector{4, 1, nonfinite == 0 ? 1.0 : 0.0}));
    }
}

TEST_F(RefOps, AdamWMovesByTheLearningRateAtFirst) {
    Vector weight = {1, 1}, grad = {8, -2}, m(2), v(2), clip = {0, 0.5, 1};
    AdamW op{.weight = view(weight, {2}),
             .grad = view(grad, {2}),
             .m = view(m, {2}),
             .v = view(v, {2}),
             .clip = view(clip, {3}),
             .learning_rate = 0.1,
             .beta1 = 0.9,
             .beta2 = 0.75,
             .eps = 0,
             .weight_decay = 0.5};
    ref_.run([&](Kernels& k, Stream& s) { k.run(op, s); });
    EXPECT_NEAR(weight[0], 1 - 0.1 * (1 + 0.5), 1e-15);
    EXPECT_NEAR(weight[1], 1 - 0.1 * (-1 + 0.5), 1e-15);
    EXPECT_NEAR(m[0], 0.1 * 4, 1e-15) << "the clip factor applies before the moments";
    EXPECT_NEAR(v[0], 0.25 * 16, 1e-15);
    const Vector before = weight;
    clip[2] = 0;
    op.step = 2;
    ref_.run([&](Kernels& k, Stream& s) { k.run(op, s); });
    EXPECT_EQ(weight, before) << "a step that is not finite is skipped";
}

TEST_F(RefOps, ErrorsNameOpTensorAndValues) {
    Vector x(6), y(6), w(2), rstd(3);
    EXPECT_THAT(error_of([&](Kernels& k, Stream& s) {
                    k.run(RmsNormFwd{.x = view(x, {3, 2}),
                                     .weight = view(w, {2}),
                                     .y = view(y, {2, 3}),
                                     .rstd = view(rstd, {3})},
                          s);
                }),
                HasSubstr("rmsnorm_fwd: T is 2 in y but 3 in x"));
    std::vector<std::int32_t> tokens = {5};
    EXPECT_THAT(error_of([&](Kernels& k, Stream& s) {
                    k.run(EmbeddingFwd{.tokens = TensorView(tokens.data(), DType::i32, {1}),
                                       .table = view(x, {3, 2}),
                                       .x = view(w, {1, 2})},
                          s);
                }),
                HasSubstr("token 5 at 0 is outside the vocabulary of 3"));
    EXPECT_THAT(
        error_of([&](Kernels& k, Stream& s) {
            k.run(LinearFwd{.x = view(x, {3, 2}), .weight = nullptr, .y = view(y, {3, 2})}, {}, s);
        }),
        HasSubstr("linear_fwd"));
}

TEST_F(RefOps, AttentionChecksRunsAndHeads) {
    Vector q(6), k(4), rows(6);
    const std::vector<rm::Run> short_runs = {{0, 0, 1}}, runs = {{0, 0, 2}};
    AttentionFwd op{.state = {view(q, {2, 3, 1}), view(rows, {2, 3}), view(rows, {2, 3})},
                    .q = view(q, {2, 3, 1}),
                    .k = view(k, {2, 2, 1}),
                    .v = view(k, {2, 2, 1}),
                    .q_runs = runs,
                    .kv_runs = runs};
    const auto queue = [&](Kernels& kernels, Stream& s) { kernels.run(op, {}, s); };
    EXPECT_THAT(error_of(queue), HasSubstr("3 query heads over 2 key-value heads"));
    op.k = op.v = view(k, {2, 1, 2}).rows(0, 2).reshaped({4, 1, 1});
    EXPECT_THAT(error_of(queue), HasSubstr("kv_runs of 2 tokens for tensors of 4"));
}

TEST_F(RefOps, CopyConvertsBetweenFloatingTypes) {
    std::vector<float> narrow = {1.5F, -2.25F}, back(2);
    Vector wide(2);
    const TensorView narrow_view(narrow.data(), DType::f32, {2}),
        back_view(back.data(), DType::f32, {2});
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(Copy{.from = narrow_view, .to = view(wide, {2})}, s);
        k.run(Copy{.from = view(wide, {2}), .to = back_view}, s);
    });
    EXPECT_EQ(wide, (Vector{1.5, -2.25}));
    EXPECT_EQ(back, narrow);
    std::vector<std::int32_t> tokens(2);
    EXPECT_THAT(
        error_of([&](Kernels& k, Stream& s) {
            k.run(Copy{.from = TensorView(tokens.data(), DType::i32, {2}), .to = narrow_view}, s);
        }),
        HasSubstr("i32 is not converted to f32"));
}

}  // namespace
}  // namespace rm::test
