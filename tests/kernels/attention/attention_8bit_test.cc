#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ref/ref_kernels.h"
#include "tests/kernels/attention/attention_8bit_problem.h"
#include "tests/kernels/attention/attention_cuts.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/naive.h"
#include "tests/support/zigzag_runs.h"

// Attention in 8 bits beyond what its cases among all ops show: the roundings are the oracle's, and
// depend on nothing but blocks of 64 keys.
namespace rm::test {
namespace {

using Runs = std::vector<rm::Run>;

constexpr std::uint64_t kSeed = 29;
constexpr double kInf = std::numeric_limits<double>::infinity();

template <AttentionProducts kProducts>
Outputs outputs_of(Kernels& kernels, const Attention8Problem& problem, DType precision) {
    Harness h(kernels, kSeed, precision);
    attend<kProducts>(h, problem);
    return h.outputs();
}

double error_at(const Values& x, const Values& r, std::size_t i) {
    return x.numbers[i] == r.numbers[i] ? 0 : std::abs(x.numbers[i] - r.numbers[i]);
}
double largest_error(const Values& x, const Values& r) {
    double largest = 0;
    for (std::size_t i = 0; i < r.numbers.size(); ++i)
        largest = std::max(largest, error_at(x, r, i));
    return largest;
}

// How far sums in the backend's types take plain attention from the oracle's.
double plain_error(const Attention8Problem& problem, DType compute, const std::string& name) {
    const auto naive = [&]() -> std::unique_ptr<Kernels> {
        if (compute == DType::f64) return std::make_unique<NaiveKernels<double>>();
        if (compute == DType::f32) return std::make_unique<NaiveKernels<float>>();
        return std::make_unique<NaiveKernels<float, Bf16>>();
    }();
    return largest_error(
        outputs_of<AttentionProducts::compute>(*naive, problem, compute).at(name),
        outputs_of<AttentionProducts::compute>(*make_ref_kernels(), problem, compute).at(name));
}

Attention8Problem usual(KeyShape keys = KeyShape::normal) {
    const Runs runs = {{0, 0, 150}, {kPaddingDocument, 0, 5}, {1, 3, 40}};
    return {{{4, 2, 64}, runs, {runs}}, keys};
}

class Attention8 : public ::testing::TestWithParam<Factory> {
protected:
    std::unique_ptr<Kernels> kernels_ = GetParam().make();
    DType compute_ = kernels_->types().compute;
};

// A probability at the border of two codes may get either, where exponentials differ in the last
// bits. So nearly all rows are as close to the oracle as rows of plain attention, and every other
// one differs by a code, which is at most an eighth of a probability.
TEST_P(Attention8, RoundsAsTheOracleDoes) {
    for (const KeyShape keys : {KeyShape::normal, KeyShape::offset}) {
        const Attention8Problem problem = usual(keys);
        const Outputs x = outputs_of<AttentionProducts::eight_bit>(*kernels_, problem, compute_);
        const Outputs r =
            outputs_of<AttentionProducts::eight_bit>(*make_ref_kernels(), problem, compute_);
        EXPECT_LE(largest_error(x.at("lse"), r.at("lse")),
                  4 * plain_error(problem, compute_, "lse") + 0x1p-20);
        const double close = 4 * plain_error(problem, compute_, "out") + 0x1p-20;
        const auto D = static_cast<std::size_t>(problem.problem.sizes.head_dim);
        const std::size_t rows = x.at("lse").numbers.size();
        std::size_t others = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            double worst = 0;
            for (std::size_t i = row * D; i < (row + 1) * D; ++i)
                worst = std::max(worst, error_at(x.at("out"), r.at("out"), i));
            others += worst > close ? 1 : 0;
            EXPECT_LE(worst, 0.125) << "row " << row;
        }
        EXPECT_LE(others, rows / 20);
    }
}

TEST_P(Attention8, ChangesNoBitWhereItIsCut) {
    const Runs causal = {{0, 0, 200}};
    expect_invariant(*kernels_, {causal, causal, 4, 2, 64, AttentionProducts::eight_bit});
    const Runs zigzag = zigzag_runs(380, 384, 2, 0, 0);
    expect_invariant(*kernels_, {zigzag, zigzag_runs(380, 384, 2, 1, 0), 1, 1, 128,
                                 AttentionProducts::eight_bit});
    const Runs documents = {{0, 0, 70}, {1, 0, 30}, {2, 64, 129}, {kPaddingDocument, 0, 27}};
    expect_invariant(*kernels_, {documents, documents, 2, 2, 40, AttentionProducts::eight_bit});
}

TEST_P(Attention8, GivesZerosWhereARowSeesNothing) {
    const Outputs x = outputs_of<AttentionProducts::eight_bit>(
        *kernels_, {{{8, 1, 64}, {{kPaddingDocument, 0, 20}, {3, 0, 40}}, {{{3, 4, 40}}}}},
        compute_);
    for (std::size_t i = 0; i < 24 * 8; ++i)
        ASSERT_EQ(x.at("lse").numbers[i], -kInf) << i;
    for (std::size_t i = 0; i < 24 * 8 * 64; ++i)
        ASSERT_EQ(x.at("out").numbers[i], 0) << i;
    for (std::size_t i = 24 * 8; i < 60 * 8; ++i)
        ASSERT_TRUE(std::isfinite(x.at("lse").numbers[i])) << i;
}

// The centre of a block takes the offset out of what is rounded.
TEST_P(Attention8, LosesNothingToAnOffsetOfTheKeys) {
    const auto error = [&](KeyShape keys) {
        const Outputs r =
            outputs_of<AttentionProducts::compute>(*make_ref_kernels(), usual(keys), compute_);
        const Outputs x =
            outputs_of<AttentionProducts::eight_bit>(*kernels_, usual(keys), compute_);
        double squares = 0;
        for (std::size_t i = 0; i < r.at("out").numbers.size(); ++i)
            squares += std::pow(error_at(x.at("out"), r.at("out"), i), 2);
        return std::sqrt(squares);
    };
    EXPECT_LE(error(KeyShape::offset), 1.5 * error(KeyShape::normal));
}

// An infinity or a NaN among the keys or values shows in every row that sees its block.
TEST_P(Attention8, PassesNumbersOnThatAreNotFinite) {
    const Runs runs = {{0, 0, 70}, {1, 0, 70}};
    for (const double wrong : {kInf, -kInf, std::nan("")}) {
        for (const int tensor : {0, 1, 2}) {
            Harness h(*kernels_, kSeed, compute_);
            int next = 0;
            const auto input = [&] {
                const bool here = next++ == tensor;
                return h.input(Role::compute, {140, 1, 64}, [=](std::size_t i, double normal) {
                    return here && i == 3 * 64 + 7 ? wrong : normal;
                });
            };
            const AttentionState state{.acc = h.output(Role::accum, {140, 1, 64}),
                                       .m = h.output(Role::accum, {140, 1}),
                                       .l = h.output(Role::accum, {140, 1})};
            const TensorView q = input(), k = input(), v = input();
            const AttentionFwd8 op{.state = state,
                                   .q = q,
                                   .k = k,
                                   .v = v,
                                   .q_runs = runs,
                                   .kv_runs = runs,
                                   .scale = 0.125};
            const TensorView out = h.output(Role::compute, {140, 1, 64});
            kernels_->run(AttentionBegin{.state = state}, h.stream());
            kernels_->run(op, h.workspace(op), h.stream());
            kernels_->run(AttentionFinish{state, out, h.output(Role::accum, {140, 1})}, h.stream());
            const std::vector<double> numbers = h.read(out);
            for (std::size_t row = 0; row < 140; ++row) {
                const bool reached = tensor == 0 ? row == 3 : row >= 3 && row < 70;
                if (!reached && row < 70) continue;
                EXPECT_EQ(std::isnan(numbers[row * 64 + 5]), reached) << row << ", " << tensor;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Attention8, ::testing::ValuesIn(kernel_factories()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rm::test
