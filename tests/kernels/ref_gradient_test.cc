#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/ref_runner.h"

// Compares every backward op of the oracle with central differences of its forward op.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 5;

// Expects `gradient` to be the gradient of loss() with respect to `numbers`. The step balances
// truncation (h^2) and rounding (1e-16 / h); both are far below the tolerance.
void expect_gradient(const char* name, Vector& numbers, const Vector& gradient,
                     const std::function<double()>& loss) {
    constexpr double kStep = 1e-5;
    constexpr double kTolerance = 1e-7;
    ASSERT_EQ(numbers.size(), gradient.size()) << name;
    double largest = 0;
    for (const double g : gradient)
        largest = std::max(largest, std::abs(g));
    ASSERT_GT(largest, 1e-3) << name << ": nothing to check";
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double before = numbers[i];
        numbers[i] = before + kStep;
        const double above = loss();
        numbers[i] = before - kStep;
        const double below = loss();
        numbers[i] = before;
        EXPECT_NEAR((above - below) / (2 * kStep), gradient[i], kTolerance * std::max(largest, 1.0))
            << name << "[" << i << "], seed " << kSeed;
    }
}

class RefGradient : public ::testing::Test {
protected:
    Rng rng_{kSeed};
    RefRunner ref_;
};

TEST_F(RefGradient, Linear) {
    constexpr std::int64_t T = 5, N = 4, K = 3;
    Vector x = random_vector(rng_, T * K), w = random_vector(rng_, N * K), y(T * N);
    Vector d_y = random_vector(rng_, T * N), d_x(T * K), d_w(N * K);
    const auto loss = [&] {
        const auto weight = ref_.prepare(w, N, K);
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(LinearFwd{.x = view(x, {T, K}), .weight = weight.get(), .y = view(y, {T, N})}, {},
                  s);
        });
        return weighted_sum(y, d_y);
    };
    const auto weight = ref_.prepare(w, N, K);
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(
            LinearBwdInput{
                .d_y = view(d_y, {T, N}), .weight = weight.get(), .d_x = view(d_x, {T, K})},
            {}, s);
        k.run(
            LinearBwdWeight{
                .d_y = view(d_y, {T, N}), .x = view(x, {T, K}), .d_weight = view(d_w, {N, K})},
            {}, s);
    });
    expect_gradient("d_x", x, d_x, loss);
    expect_gradient("d_weight", w, d_w, loss);
}

TEST_F(RefGradient, RmsNorm) {
    constexpr std::int64_t T = 4, C = 6;
    Vector x = random_vector(rng_, T * C), w = random_vector(rng_, C), y(T * C), rstd(T);
    Vector d_y = random_vector(rng_, T * C), d_x(T * C), d_w(C);
    const auto loss = [&] {
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(RmsNormFwd{.x = view(x, {T, C}),
                             .weight = view(w, {C}),
                             .y = view(y, {T, C}),
                             .rstd = view(rstd, {T}),
                             .eps = 0.1},
                  s);
        });
        return weighted_sum(y, d_y);
    };
    loss();
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(RmsNormBwd{.d_y = view(d_y, {T, C}),
                         .x = view(x, {T, C}),
                         .weight = view(w, {C}),
                         .rstd = view(rstd, {T}),
                         .d_x = view(d_x, {T, C}),
                         .d_weight = view(d_w, {C})},
              {}, s);
    });
    expect_gradient("d_x", x, d_x, loss);
    expect_gradient("d_weight", w, d_w, loss);
}

TEST_F(RefGradient, Rope) {
    constexpr std::int64_t T = 3, H = 2, D = 4;
    const std::vector<rm::Run> runs = {{0, 5, T}};
    const Vector inv_freq = {1.0, 0.3};
    Vector cos(T * D / 2), sin(T * D / 2);
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(RopeTable{.runs = runs,
                        .inv_freq = inv_freq,
                        .scale = 1.2,
                        .cos = view(cos, {T, D / 2}),
                        .sin = view(sin, {T, D / 2})},
              s);
    });
    const auto apply = [&](Vector& x, Rotation rotation) {
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(RopeApply{.x = view(x, {T, H, D}),
                            .cos = view(cos, {T, D / 2}),
                            .sin = view(sin, {T, D / 2}),
                            .rotation = rotation},
                  s);
        });
    };
    Vector x = random_vector(rng_, T * H * D);
    const Vector d_y = random_vector(rng_, T * H * D);
    Vector d_x = d_y;
    apply(d_x, Rotation::backward);
    expect_gradient("d_x", x, d_x, [&] {
        Vector y = x;
        apply(y, Rotation::forward);
        return weighted_sum(y, d_y);
    });
}

TEST_F(RefGradient, Swiglu) {
    constexpr std::int64_t T = 4, F = 5;
    Vector gate = random_vector(rng_, T * F, 2), up = random_vector(rng_, T * F), h(T * F);
    Vector d_h = random_vector(rng_, T * F), d_gate(T * F), d_up(T * F);
    const auto loss = [&] {
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(
                SwigluFwd{.gate = view(gate, {T, F}), .up = view(up, {T, F}), .h = view(h, {T, F})},
                s);
        });
        return weighted_sum(h, d_h);
    };
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(SwigluBwd{.d_h = view(d_h, {T, F}),
                        .gate = view(gate, {T, F}),
                        .up = view(up, {T, F}),
                        .d_gate = view(d_gate, {T, F}),
                        .d_up = view(d_up, {T, F})},
              s);
    });
    expect_gradient("d_gate", gate, d_gate, loss);
    expect_gradient("d_up", up, d_up, loss);
}

TEST_F(RefGradient, Embedding) {
    constexpr std::int64_t T = 6, V = 4, C = 3;
    std::vector<std::int32_t> tokens = {2, 0, 2, 3, 2, 0};
    const TensorView token_view(tokens.data(), DType::i32, {T});
    Vector table = random_vector(rng_, V * C), x(T * C), d_x = random_vector(rng_, T * C),
           d_table(V * C);
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(
            EmbeddingBwd{
                .tokens = token_view, .d_x = view(d_x, {T, C}), .d_table = view(d_table, {V, C})},
            s);
    });
    expect_gradient("d_table", table, d_table, [&] {
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(
                EmbeddingFwd{
                    .tokens = token_view, .table = view(table, {V, C}), .x = view(x, {T, C})},
                s);
        });
        return weighted_sum(x, d_x);
    });
}

TEST_F(RefGradient, LinearCrossEntropy) {
    constexpr std::int64_t T = 5, V = 7, C = 4;
    constexpr double kScale = 0.25;
    std::vector<std::int32_t> targets = {3, kIgnoreTarget, 0, 6, 3};
    const TensorView target_view(targets.data(), DType::i32, {T});
    Vector x = random_vector(rng_, T * C), w = random_vector(rng_, V * C), d_x(T * C, 99),
           d_w(V * C);
    Vector losses(T);
    const auto loss = [&] {
        const auto head = ref_.prepare(w, V, C);
        Vector sum(1);
        ref_.run([&](Kernels& k, Stream& s) {
            k.run(LinearCrossEntropy{.x = view(x, {T, C}),
                                     .head = head.get(),
                                     .targets = target_view,
                                     .losses = view(losses, {T}),
                                     .loss_sum = view(sum, {1})},
                  {}, s);
        });
        return kScale * sum[0];
    };
    const auto head = ref_.prepare(w, V, C);
    Vector sum(1);
    ref_.run([&](Kernels& k, Stream& s) {
        k.run(LinearCrossEntropy{.x = view(x, {T, C}),
                                 .head = head.get(),
                                 .targets = target_view,
                                 .scale = kScale,
                                 .losses = view(losses, {T}),
                                 .loss_sum = view(sum, {1}),
                                 .d_x = view(d_x, {T, C}),
                                 .d_head = view(d_w, {V, C})},
              {}, s);
    });
    EXPECT_DOUBLE_EQ(kScale * sum[0], loss()) << "loss_sum itself is not scaled";
    expect_gradient("d_x", x, d_x, loss);
    expect_gradient("d_head", w, d_w, loss);
}

TEST_F(RefGradient, AttentionOverSeveralBlocks) {
    constexpr std::int64_t T = 7, S = 9, Hq = 4, Hk = 2, D = 3;
    const std::vector<rm::Run> q_runs = {{0, 2, 4}, {1, 0, 2}, {kPaddingDocument, 0, 1}};
    const std::vector<rm::Run> kv_runs = {{0, 0, 5}, {1, 0, 2}, {0, 5, 2}};
    const double scale = 1 / std::sqrt(3.0);
    Vector q = random_vector(rng_, T * Hq * D), k = random_vector(rng_, S * Hk * D);
    Vector v = random_vector(rng_, S * Hk * D), d_out = random_vector(rng_, T * Hq * D);
    Vector acc(T * Hq * D), m(T * Hq), l(T * Hq), out(T * Hq * D), lse(T * Hq), delta(T * Hq);
    Vector d_q(T * Hq * D), d_k(S * Hk * D), d_v(S * Hk * D);
    const AttentionState state{view(acc, {T, Hq, D}), view(m, {T, Hq}), view(l, {T, Hq})};
    const auto loss = [&] {
        ref_.run([&](Kernels& kernels, Stream& s) {
            kernels.run(AttentionBegin{.state = state}, s);
            kernels.run(AttentionFwd{.state = state,
                                     .q = view(q, {T, Hq, D}),
                                     .k = view(k, {S, Hk, D}),
                                     .v = view(v, {S, Hk, D}),
                                     .q_runs = q_runs,
                                     .kv_runs = kv_runs,
                                     .scale = scale},
                        {}, s);
            kernels.run(
                AttentionFinish{
                    .state = state, .out = view(out, {T, Hq, D}), .lse = view(lse, {T, Hq})},
                s);
        });
        return weighted_sum(out, d_out);
    };
    loss();
    ref_.run([&](Kernels& kernels, Stream& s) {
        kernels.run(AttentionDelta{.d_out = view(d_out, {T, Hq, D}),
                                   .out = view(out, {T, Hq, D}),
                                   .delta = view(delta, {T, Hq})},
                    s);
        kernels.run(AttentionBwd{.q = view(q, {T, Hq, D}),
                                 .k = view(k, {S, Hk, D}),
                                 .v = view(v, {S, Hk, D}),
                                 .d_out = view(d_out, {T, Hq, D}),
                                 .lse = view(lse, {T, Hq}),
                                 .delta = view(delta, {T, Hq}),
                                 .q_runs = q_runs,
                                 .kv_runs = kv_runs,
                                 .scale = scale,
                                 .d_q = view(d_q, {T, Hq, D}),
                                 .d_k = view(d_k, {S, Hk, D}),
                                 .d_v = view(d_v, {S, Hk, D})},
                    {}, s);
    });
    expect_gradient("d_q", q, d_q, loss);
    expect_gradient("d_k", k, d_k, loss);
    expect_gradient("d_v", v, d_v, loss);
}

}  // namespace
}  // namespace rm::test
