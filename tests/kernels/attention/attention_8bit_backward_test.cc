#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/attention_8bit.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/harness.h"

// Attention backward in 8 bits is the other backward pass on operands that are rounded already, to
// what the forward pass has multiplied.
namespace rm::test {
namespace {

using Runs = std::vector<rm::Run>;

constexpr std::uint64_t kSeed = 41;

struct Problem {
    std::int64_t Hq = 1, Hk = 1, D = 64;
    Runs q_runs, kv_runs;
    double of_keys = 1;  // their standard deviation

    std::int64_t T() const { return num_tokens(q_runs); }
    std::int64_t S() const { return num_tokens(kv_runs); }
};

// Numbers of x (tokens, heads, D), rounded as a part of `part` tokens of a run each.
template <typename Round>
std::vector<double> rounded(Harness& h, const TensorView& x, const Runs& runs, std::int64_t part,
                            const Round& round) {
    const std::int64_t heads = x.dim(1), D = x.dim(2);
    std::vector<double> numbers = h.read(x);
    std::int64_t token = 0;
    for (const rm::Run& run : runs) {
        for (std::int64_t first = 0; first < run.length; first += part) {
            const std::int64_t count = std::min(part, run.length - first);
            for (std::int64_t head = 0; head < heads; ++head) {
                const auto at = [&](std::int64_t i) {
                    return usize(((token + first + i / D) * heads + head) * D + i % D);
                };
                std::vector<float> tile(usize(count * D));
                for (std::size_t i = 0; i < tile.size(); ++i)
                    tile[i] = static_cast<float>(numbers[at(static_cast<std::int64_t>(i))]);
                round(tile);
                for (std::size_t i = 0; i < tile.size(); ++i)
                    numbers[at(static_cast<std::int64_t>(i))] = static_cast<double>(tile[i]);
            }
        }
        token += run.length;
    }
    return numbers;
}

// The gradients by Op, of q, k and v as they are or rounded by the host.
template <typename Op>
Outputs gradients(Kernels& kernels, const Problem& p, bool round_first) {
    Harness h(kernels, kSeed, kernels.types().compute);
    const auto input = [&](Shape shape, double size) {
        return h.input(Role::compute, shape, size);
    };
    TensorView q = input({p.T(), p.Hq, p.D}, 1.5), k = input({p.S(), p.Hk, p.D}, p.of_keys);
    TensorView v = input({p.S(), p.Hk, p.D}, 1);
    if (round_first) {
        const auto as = [&](const TensorView& like, const std::vector<double>& numbers) {
            return h.input(Role::compute, {like.dim(0), like.dim(1), like.dim(2)},
                           [&](std::size_t i, double /*normal*/) { return numbers[i]; });
        };
        const auto round_keys = [&](std::vector<float>& tile) { to_rounded_keys(tile, p.D); };
        q = as(q, rounded(h, q, p.q_runs, 1, to_rounded_query));
        k = as(k, rounded(h, k, p.kv_runs, kAttentionBlock, round_keys));
        v = as(v, rounded(h, v, p.kv_runs, kAttentionBlock, to_rounded_values));
    }
    Harness others(kernels, kSeed + 1, kernels.types().compute);
    const Op op{.q = q,
                .k = k,
                .v = v,
                .d_out = others.input(Role::compute, {p.T(), p.Hq, p.D}),
                .lse = others.filled(Role::accum, {p.T(), p.Hq}, 6),
                .delta = others.input(Role::accum, {p.T(), p.Hq}),
                .q_runs = p.q_runs,
                .kv_runs = p.kv_runs,
                .scale = 0.125,
                .d_q = others.input(Role::accum, {p.T(), p.Hq, p.D}),
                .d_k = others.input(Role::accum, {p.S(), p.Hk, p.D}),
                .d_v = others.input(Role::accum, {p.S(), p.Hk, p.D})};
    kernels.run(op, others.workspace(op), others.stream());
    others.keep("d_q", op.d_q);
    others.keep("d_k", op.d_k);
    others.keep("d_v", op.d_v);
    return others.outputs();
}

void expect_rounded_operands(Kernels& kernels, const Problem& problem) {
    const Outputs x = gradients<AttentionBwd8>(kernels, problem, false);
    const Outputs wanted = gradients<AttentionBwd>(kernels, problem, true);
    for (const auto& [name, values] : wanted)
        EXPECT_EQ(x.at(name).numbers, values.numbers) << name;
}

class AttentionBackward8 : public ::testing::TestWithParam<Factory> {
protected:
    std::unique_ptr<Kernels> kernels_ = GetParam().make();
};

const Runs kDocuments = {
    {0, 0, 67}, {kPaddingDocument, 0, 9}, {1, 5, 3}, {2, 0, 140}, {kPaddingDocument, 0, 2}};

TEST_P(AttentionBackward8, IsTheOtherOneOnRoundedOperands) {
    expect_rounded_operands(*kernels_, {2, 2, 64, {{0, 0, 130}}, {{0, 0, 130}}});
    expect_rounded_operands(*kernels_, {4, 1, 128, {{0, 0, 70}}, {{0, 0, 70}}});
    expect_rounded_operands(*kernels_, {4, 2, 40, kDocuments, kDocuments});
    expect_rounded_operands(*kernels_, {2, 1, 64, {{0, 200, 64}}, {{0, 0, 150}}, 3});
}

TEST(AttentionBackward8Ref, IsTheOtherOneOnRoundedOperands) {
    expect_rounded_operands(*make_ref_kernels(), {4, 2, 64, kDocuments, kDocuments});
}

class AttentionBackward8OnDevice : public AttentionBackward8 {};

// It rounds 4,096 queries and 8,192 keys at a time; padding between two documents counts.
TEST_P(AttentionBackward8OnDevice, IsTheOtherOneOnLongSides) {
    expect_rounded_operands(*kernels_, {1, 1, 64, {{0, 8300, 64}}, {{0, 0, 8300}}});
    expect_rounded_operands(*kernels_, {1, 1, 64, {{0, 0, 4200}}, {{0, 0, 64}}});
    expect_rounded_operands(*kernels_, {1,
                                        1,
                                        64,
                                        {{0, 60, 64}, {1, 130, 64}},
                                        {{0, 0, 60}, {kPaddingDocument, 0, 8200}, {1, 0, 129}}});
}

// The sum of each row's probabilities: with d_out = 1 those of a head are in d_v. One query sees
// all keys.
template <AttentionProducts kProducts>
std::vector<double> row_sums(Kernels& kernels) {
    constexpr std::int64_t S = 256, H = 16, D = 64;
    const Runs query = {{0, S - 1, 1}}, keys = {{0, 0, S}};
    Harness h(kernels, kSeed, kernels.types().compute);
    const TensorView q = h.input(Role::compute, {1, H, D}, 4);
    const TensorView k = h.input(Role::compute, {S, H, D}), v = h.input(Role::compute, {S, H, D});
    const AttentionState state{h.output(Role::accum, {1, H, D}), h.output(Role::accum, {1, H}),
                               h.output(Role::accum, {1, H})};
    const TensorView out = h.output(Role::compute, {1, H, D}), lse = h.output(Role::accum, {1, H});
    kernels.run(AttentionBegin{state}, h.stream());
    const AttentionFwd8 forward{state, q, k, v, query, keys, 0.125};
    kernels.run(forward, h.workspace(forward), h.stream());
    kernels.run(AttentionFinish{state, out, lse}, h.stream());
    const AttentionBackwardOp<kProducts> backward{.q = q,
                                                  .k = k,
                                                  .v = v,
                                                  .d_out = h.filled(Role::compute, {1, H, D}, 1),
                                                  .lse = lse,
                                                  .delta = h.filled(Role::accum, {1, H}, 0),
                                                  .q_runs = query,
                                                  .kv_runs = keys,
                                                  .scale = 0.125,
                                                  .d_q = h.filled(Role::accum, {1, H, D}, 0),
                                                  .d_k = h.filled(Role::accum, {S, H, D}, 0),
                                                  .d_v = h.filled(Role::accum, {S, H, D}, 0)};
    kernels.run(backward, h.workspace(backward), h.stream());
    const std::vector<double> d_v = h.read(backward.d_v);
    std::vector<double> sums(H, 0.0);
    for (std::int64_t s = 0; s < S; ++s) {
        for (std::int64_t head = 0; head < H; ++head)
            sums[usize(head)] += d_v[usize((s * H + head) * D)];
    }
    return sums;
}

double distance_from_one(const std::vector<double>& sums) {
    return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0, [](double total, double sum) {
        return total + (sum - 1) * (sum - 1);
    }));
}

// They are made of lse, which has seen rounded scores. Scores of rounded operands leave what bf16
// takes from those.
TEST_P(AttentionBackward8, HasProbabilitiesThatAddUpToOne) {
    EXPECT_LT(distance_from_one(row_sums<AttentionProducts::eight_bit>(*kernels_)),
              0.4 * distance_from_one(row_sums<AttentionProducts::compute>(*kernels_)));
}

std::vector<Factory> devices() {
    std::vector<Factory> all = kernel_factories();
    std::erase_if(all, [](const Factory& one) { return one.name.starts_with("cpu"); });
    return all;
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttentionBackward8OnDevice, ::testing::ValuesIn(devices()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Kernels, AttentionBackward8, ::testing::ValuesIn(kernel_factories()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
