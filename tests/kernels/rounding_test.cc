#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "kernels/bf16.h"
#include "tests/kernels/factories.h"
#include "tests/kernels/harness.h"

// AdamW with moments in bf16: stochastic rounding.
namespace rm::test {
namespace {

constexpr std::uint64_t kSeed = 23;
constexpr std::uint64_t kRoundingSeed = 0xfeedface;

// The range of columns of a whole tensor that this part holds; all columns when `count` is 0.
struct Columns {
    std::int64_t first = 0, count = 0, all = 0;
};

// A tensor with its gradient, and with its moments stored as `moments`.
struct State {
    State(Harness& h, std::int64_t size, Role moments, Role gradients = Role::accum)
        : State(h, h.input(Role::master, {size}), h.input(gradients, {size}), moments) {}
    State(Harness& h, const TensorView& weight, const TensorView& grad, Role moments)
        : weight(weight),
          grad(grad),
          size(weight.num_elements()),
          m(h.filled(moments, {size}, 0)),
          v(h.filled(moments, {size}, 0)),
          clip(h.filled(Role::f64, {3}, 1)) {}

    // Runs one step over [first, first + count).
    void step(Harness& h, std::int64_t step, std::int64_t first, std::int64_t count,
              const Columns& columns = {}) const {
        const auto part = [&](const TensorView& x) { return x.rows(first, count); };
        h.kernels().run(AdamW{.weight = part(weight),
                              .grad = part(grad),
                              .m = part(m),
                              .v = part(v),
                              .clip = clip,
                              .learning_rate = 1e-2,
                              .step = step,
                              .rounding_seed = kRoundingSeed,
                              .first_element = first,
                              .columns = columns.count,
                              .all_columns = columns.all,
                              .first_column = columns.first},
                        h.stream());
    }
    // Runs three steps, each over ranges of `range` elements.
    void run(Harness& h, std::int64_t range, const Columns& columns = {}) const {
        for (std::int64_t at = 1; at <= 3; ++at) {
            for (std::int64_t first = 0; first < size; first += range)
                step(h, at, first, std::min(range, size - first), columns);
        }
    }

    TensorView weight, grad;
    std::int64_t size = 0;
    TensorView m, v, clip;
};

class RoundedMoments : public ::testing::TestWithParam<Factory> {};

void expect_rounded_moments(Kernels& kernels, Role gradients) {
    constexpr std::int64_t kSize = 1001;
    Harness exact(kernels, kSeed), rounded(kernels, kSeed);
    const State accum(exact, kSize, Role::accum, gradients);
    const State bf16(rounded, kSize, Role::bf16, gradients);
    accum.step(exact, 1, 0, kSize);
    bf16.step(rounded, 1, 0, kSize);
    EXPECT_EQ(rounded.read(bf16.weight), exact.read(accum.weight));
    const auto m = exact.read(accum.m), v = exact.read(accum.v);
    const auto rounded_m = rounded.read(bf16.m), rounded_v = rounded.read(bf16.v);
    for (std::int64_t i = 0; i < kSize; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::uint64_t random = random_at(kRoundingSeed, 1, at);
        const auto expect = [&](double value, std::uint64_t bits) {
            return from_bf16(to_bf16_stochastically(static_cast<float>(value),
                                                    static_cast<std::uint16_t>(bits)));
        };
        ASSERT_EQ(rounded_m[at], expect(m[at], random)) << "element " << i;
        ASSERT_EQ(rounded_v[at], expect(v[at], random >> 16)) << "element " << i;
    }
}

TEST_P(RoundedMoments, AreTheExactOnesRoundedByTheElementsRandomNumbers) {
    const auto kernels = GetParam().make();
    for (const Role gradients : {Role::accum, Role::bf16})
        expect_rounded_moments(*kernels, gradients);
}

TEST_P(RoundedMoments, DoNotDependOnHowATensorIsCut) {
    constexpr std::int64_t kSize = 1000;
    const auto kernels = GetParam().make();
    const auto run = [&](std::int64_t part) {
        Harness h(*kernels, kSeed);
        const State state(h, kSize, Role::bf16);
        state.run(h, part);
        h.keep("weight", state.weight);
        h.keep("m", state.m);
        h.keep("v", state.v);
        return h.outputs();
    };
    const Outputs whole = run(kSize);
    for (const std::int64_t part : {64, 333, 7})
        expect_identical(run(part), whole);
}

// The columns [first, first + count) of a matrix with `all` of them.
std::vector<double> columns_of(const std::vector<double>& matrix, const Columns& columns) {
    std::vector<double> part;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
        const std::int64_t column = static_cast<std::int64_t>(i) % columns.all - columns.first;
        if (column >= 0 && column < columns.count) part.push_back(matrix[i]);
    }
    return part;
}

TEST_P(RoundedMoments, DoNotDependOnHowColumnsAreCut) {
    constexpr std::int64_t kRows = 9, kColumns = 30;
    const auto kernels = GetParam().make();
    Harness h(*kernels, kSeed);
    const TensorView weight = h.input(Role::master, {kRows * kColumns});
    const TensorView grad = h.input(Role::accum, {kRows * kColumns});
    const auto cut = [&](const TensorView& all, const Columns& columns) {
        const TensorView part = h.output(Role::accum, {kRows * columns.count});
        kernels->run(CopyHeads{.from = all.reshaped({kRows, kColumns, 1}),
                               .to = part.reshaped({kRows, columns.count, 1}),
                               .from_first = columns.first,
                               .count = columns.count},
                     h.stream());
        return part;
    };
    std::vector<std::pair<Columns, State>> parts;
    for (const auto& [first, count] : {std::pair{0, 11}, {11, 1}, {12, 18}}) {
        const Columns columns{first, count, kColumns};
        for (const std::int64_t range : {kRows * kColumns, std::int64_t{7}}) {
            const State part(h, cut(weight, columns), cut(grad, columns), Role::bf16);
            part.run(h, range, columns);
            parts.emplace_back(columns, part);
        }
    }
    const State whole(h, weight, grad, Role::bf16);
    whole.run(h, kRows * kColumns);
    for (const auto& [columns, part] : parts) {
        SCOPED_TRACE(format("columns {}+{}", columns.first, columns.count));
        EXPECT_EQ(h.read(part.weight), columns_of(h.read(whole.weight), columns));
        EXPECT_EQ(h.read(part.m), columns_of(h.read(whole.m), columns));
        EXPECT_EQ(h.read(part.v), columns_of(h.read(whole.v), columns));
    }
}

// Rounding takes a value to one of its two neighbours, and the mean of kSize draws must lie within
// five standard deviations of the value.
TEST_P(RoundedMoments, AreUnbiased) {
    constexpr std::int64_t kSize = 1 << 14;
    const auto kernels = GetParam().make();
    for (const double gradient : {0.3, -7.77, 1e-20}) {
        Harness h(*kernels, kSeed);
        State state(h, kSize, Role::bf16);
        state.grad = h.filled(Role::accum, {kSize}, gradient);
        state.step(h, 1, 0, kSize);
        Harness exact(*kernels, kSeed);
        State one(exact, 1, Role::accum);
        one.grad = exact.filled(Role::accum, {1}, gradient);
        one.step(exact, 1, 0, 1);
        const double expected = exact.read(one.m)[0];
        double mean = 0, low = expected, high = expected;
        for (const double m : h.read(state.m)) {
            mean += m / kSize;
            low = std::min(low, m);
            high = std::max(high, m);
        }
        const double gap = high - low;
        EXPECT_GT(gap, 0);
        EXPECT_LE(gap, std::abs(expected) / 128) << "neighbours in bf16";
        const double up = (expected - low) / gap;
        EXPECT_NEAR(mean, expected, 5 * gap * std::sqrt(up * (1 - up) / kSize));
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RoundedMoments, ::testing::ValuesIn(kernel_factories()),
                         [](const auto& info) { return info.param.name; });

TEST(StochasticRounding, KeepsWhatHasNoNeighbours) {
    for (const float value : {0.0f, 1.0f, -3.5f, from_bf16(0x7f80), from_bf16(0xff80)}) {
        for (const std::uint16_t random : {0, 1, 0x8000, 0xffff})
            EXPECT_EQ(from_bf16(to_bf16_stochastically(value, random)), value);
    }
    EXPECT_NE(to_bf16_stochastically(std::nanf(""), 0xffff), 0);
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16_stochastically(std::nanf(""), 0xffff))));
}

}  // namespace
}  // namespace rm::test
