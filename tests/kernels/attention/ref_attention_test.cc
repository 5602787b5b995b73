#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/ref_runner.h"
#include "tests/support/zigzag_runs.h"

// Compares the oracle's attention with a softmax computed over the whole row.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 3;
constexpr double kTolerance = 1e-13;  // a few rounding errors of fp64

struct Token {
    std::int32_t document = 0;
    std::int64_t position = 0;
};

std::vector<Token> tokens_of(const std::vector<rm::Run>& runs) {
    std::vector<Token> tokens;
    for (const rm::Run& run : runs) {
        for (std::int64_t i = 0; i < run.length; ++i)
            tokens.push_back({run.document, run.first + i});
    }
    return tokens;
}

struct Sizes {
    std::int64_t Hq = 4, Hk = 2, D = 5;
};

class RefAttention : public ::testing::Test {
protected:
    // Attends queries to blocks of keys; fills out_ and lse_.
    void attend(const std::vector<rm::Run>& q_runs, const std::vector<std::vector<rm::Run>>& blocks,
                const Sizes& sizes = {});
    void expect_softmax(const std::vector<rm::Run>& q_runs,
                        const std::vector<std::vector<rm::Run>>& blocks, const Sizes& sizes = {});

    static double scale(const Sizes& sizes) { return 1 / std::sqrt(static_cast<double>(sizes.D)); }

    Rng rng_{kSeed};
    RefRunner ref_;
    Vector q_, k_, v_, out_, lse_;
};

void RefAttention::attend(const std::vector<rm::Run>& q_runs,
                          const std::vector<std::vector<rm::Run>>& blocks, const Sizes& sizes) {
    const auto [Hq, Hk, D] = sizes;
    std::int64_t S = 0;
    for (const auto& runs : blocks)
        S += num_tokens(runs);
    const std::int64_t T = num_tokens(q_runs);
    q_ = random_vector(rng_, T * Hq * D, 2);
    k_ = random_vector(rng_, S * Hk * D, 2);
    v_ = random_vector(rng_, S * Hk * D);
    out_.assign(q_.size(), 99);
    lse_.assign(static_cast<std::size_t>(T * Hq), 99);
    Vector acc(q_.size()), m(lse_.size()), l(lse_.size());
    const AttentionState state{view(acc, {T, Hq, D}), view(m, {T, Hq}), view(l, {T, Hq})};
    const TensorView k = view(k_, {S, Hk, D}), v = view(v_, {S, Hk, D});
    ref_.run([&](Kernels& kernels, Stream& stream) {
        kernels.run(AttentionBegin{.state = state}, stream);
        std::int64_t first = 0;
        for (const auto& runs : blocks) {
            const std::int64_t count = num_tokens(runs);
            kernels.run(AttentionFwd{.state = state,
                                     .q = view(q_, {T, Hq, D}),
                                     .k = k.rows(first, count),
                                     .v = v.rows(first, count),
                                     .q_runs = q_runs,
                                     .kv_runs = runs,
                                     .scale = scale(sizes)},
                        {}, stream);
            first += count;
        }
        kernels.run(
            AttentionFinish{
                .state = state, .out = view(out_, {T, Hq, D}), .lse = view(lse_, {T, Hq})},
            stream);
    });
}

void RefAttention::expect_softmax(const std::vector<rm::Run>& q_runs,
                                  const std::vector<std::vector<rm::Run>>& blocks,
                                  const Sizes& sizes) {
    attend(q_runs, blocks, sizes);
    const auto [Hq, Hk, D] = sizes;
    const std::vector<Token> queries = tokens_of(q_runs);
    std::vector<Token> keys;
    for (const auto& runs : blocks) {
        const auto more = tokens_of(runs);
        keys.insert(keys.end(), more.begin(), more.end());
    }
    for (std::size_t row = 0; row < lse_.size(); ++row) {
        const Token& query = queries[row / Hq];
        const std::size_t hk = row % Hq / (Hq / Hk);
        double sum = 0;
        Vector out(D);
        for (std::size_t s = 0; s < keys.size(); ++s) {
            const bool same = query.document == keys[s].document && query.document >= 0;
            if (!same || keys[s].position > query.position) continue;
            double score = 0;
            for (std::int64_t d = 0; d < D; ++d)
                score += q_[row * D + d] * k_[(s * Hk + hk) * D + d];
            const double weight = std::exp(score * scale(sizes));
            sum += weight;
            for (std::int64_t d = 0; d < D; ++d)
                out[d] += weight * v_[(s * Hk + hk) * D + d];
        }
        if (sum == 0) {
            EXPECT_EQ(lse_[row], -std::numeric_limits<double>::infinity()) << "row " << row;
        } else {
            EXPECT_NEAR(lse_[row], std::log(sum), kTolerance * 100) << "row " << row;
        }
        for (std::int64_t d = 0; d < D; ++d) {
            EXPECT_NEAR(out_[row * D + d], sum == 0 ? 0 : out[d] / sum, kTolerance * 100)
                << "row " << row << ", seed " << kSeed;
        }
    }
}

TEST_F(RefAttention, IsCausal) {
    expect_softmax({{0, 0, 20}}, {{{0, 0, 20}}});
}

TEST_F(RefAttention, SharesKeyValueHeads) {
    expect_softmax({{0, 0, 9}}, {{{0, 0, 9}}}, {.Hq = 6, .Hk = 1, .D = 4});
    expect_softmax({{0, 0, 9}}, {{{0, 0, 9}}}, {.Hq = 3, .Hk = 3, .D = 4});
}

TEST_F(RefAttention, KeepsDocumentsApart) {
    const std::vector<rm::Run> documents = {{0, 0, 7}, {1, 0, 1}, {2, 0, 8}};
    expect_softmax(documents, {documents});
}

TEST_F(RefAttention, MergesTheBlocksOfARing) {
    constexpr int kRing = 3;
    for (int slot = 0; slot < kRing; ++slot) {
        std::vector<std::vector<rm::Run>> blocks;
        for (int hop = 0; hop < kRing; ++hop) {
            blocks.push_back(zigzag_runs(43, 48, kRing, (slot + kRing - hop) % kRing, 0));
        }
        expect_softmax(zigzag_runs(43, 48, kRing, slot, 0), blocks);
    }
}

TEST_F(RefAttention, OfRowsThatSawNoKeyIsZero) {
    attend({{kPaddingDocument, 0, 2}, {7, 0, 2}, {0, 0, 1}},
           {{{0, 5, 4}, {kPaddingDocument, 0, 3}}});
    for (const double x : out_)
        EXPECT_EQ(x, 0);
    for (const double x : lse_)
        EXPECT_EQ(x, -std::numeric_limits<double>::infinity());
}

TEST_F(RefAttention, OfRowsThatSawNoKeyHasFiniteGradients) {
    const std::vector<rm::Run> q_runs = {{kPaddingDocument, 0, 2}, {0, 0, 3}};
    const std::vector<rm::Run> kv_runs = {{0, 0, 3}, {kPaddingDocument, 0, 2}};
    attend(q_runs, {kv_runs});
    constexpr std::int64_t T = 5, S = 5;
    const auto [Hq, Hk, D] = Sizes{};
    Vector d_out = random_vector(rng_, T * Hq * D), delta(T * Hq);
    Vector d_q(q_.size()), d_k(k_.size()), d_v(v_.size());
    ref_.run([&](Kernels& kernels, Stream& stream) {
        kernels.run(AttentionDelta{.d_out = view(d_out, {T, Hq, D}),
                                   .out = view(out_, {T, Hq, D}),
                                   .delta = view(delta, {T, Hq})},
                    stream);
        kernels.run(AttentionBwd{.q = view(q_, {T, Hq, D}),
                                 .k = view(k_, {S, Hk, D}),
                                 .v = view(v_, {S, Hk, D}),
                                 .d_out = view(d_out, {T, Hq, D}),
                                 .lse = view(lse_, {T, Hq}),
                                 .delta = view(delta, {T, Hq}),
                                 .q_runs = q_runs,
                                 .kv_runs = kv_runs,
                                 .scale = scale({}),
                                 .d_q = view(d_q, {T, Hq, D}),
                                 .d_k = view(d_k, {S, Hk, D}),
                                 .d_v = view(d_v, {S, Hk, D})},
                    {}, stream);
    });
    for (const Vector& gradient : {d_q, d_k, d_v}) {
        for (const double x : gradient)
            EXPECT_TRUE(std::isfinite(x));
    }
    for (std::int64_t i = 0; i < 2 * Hq * D; ++i)
        EXPECT_EQ(d_q[static_cast<std::size_t>(i)], 0);
    for (std::int64_t i = 3 * Hk * D; i < S * Hk * D; ++i)
        EXPECT_EQ(d_k[static_cast<std::size_t>(i)], 0);
    EXPECT_TRUE(std::any_of(d_k.begin(), d_k.end(), [](double x) { return x != 0; }));
}

TEST_F(RefAttention, SurvivesScoresThatWouldOverflow) {
    attend({{0, 0, 6}}, {{{0, 0, 3}}, {{0, 3, 3}}});
    for (double& x : q_)
        x *= 400;
    Vector acc(q_.size()), m(lse_.size()), l(lse_.size());
    const auto [Hq, Hk, D] = Sizes{};
    constexpr std::int64_t T = 6;
    const std::vector<rm::Run> runs = {{0, 0, T}};
    const AttentionState state{view(acc, {T, Hq, D}), view(m, {T, Hq}), view(l, {T, Hq})};
    ref_.run([&](Kernels& kernels, Stream& stream) {
        kernels.run(AttentionBegin{.state = state}, stream);
        kernels.run(AttentionFwd{.state = state,
                                 .q = view(q_, {T, Hq, D}),
                                 .k = view(k_, {T, Hk, D}),
                                 .v = view(v_, {T, Hk, D}),
                                 .q_runs = runs,
                                 .kv_runs = runs,
                                 .scale = 1},
                    {}, stream);
        kernels.run(
            AttentionFinish{
                .state = state, .out = view(out_, {T, Hq, D}), .lse = view(lse_, {T, Hq})},
            stream);
    });
    EXPECT_GT(*std::max_element(lse_.begin(), lse_.end()), 710) << "exp would overflow";
    for (const double x : out_)
        EXPECT_TRUE(std::isfinite(x));
}

}  // namespace
}  // namespace rm::test
