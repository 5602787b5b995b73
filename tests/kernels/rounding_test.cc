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

std::vector<Factory> factories_in_bf16() {
    std::vector<Factory> factories;
    for (const Factory& factory : kernel_factories()) {
        if (factory.make()->types().compute == DType::bf16) factories.push_back(factory);
    }
    return factories;
}

// `size` elements after some steps; moments in `moments`.
struct State {
    State(Harness& h, std::int64_t size, Role moments)
        : weight(h.input(Role::master, {size})),
          grad(h.input(Role::accum, {size})),
          m(h.filled(moments, {size}, 0)),
          v(h.filled(moments, {size}, 0)),
          clip(h.filled(Role::f64, {3}, 1)) {}

    // One step over [first, first + count).
    void step(Harness& h, std::int64_t step, std::int64_t first, std::int64_t count) const {
        const auto part = [&](const TensorView& x) { return x.rows(first, count); };
        h.kernels().adamw({.weight = part(weight),
                           .grad = part(grad),
                           .m = part(m),
                           .v = part(v),
                           .clip = clip,
                           .learning_rate = 1e-2,
                           .step = step,
                           .rounding_seed = kRoundingSeed,
                           .first_element = first},
                          h.stream());
    }

    TensorView weight, grad, m, v, clip;
};

class RoundedMoments : public ::testing::TestWithParam<Factory> {};

TEST_P(RoundedMoments, AreTheF32OnesRoundedByTheElementsRandomNumbers) {
    constexpr std::int64_t kSize = 1001;
    const auto kernels = GetParam().make();
    Harness exact(*kernels, kSeed), rounded(*kernels, kSeed);
    const State f32(exact, kSize, Role::accum), bf16(rounded, kSize, Role::compute);
    f32.step(exact, 1, 0, kSize);
    bf16.step(rounded, 1, 0, kSize);
    EXPECT_EQ(rounded.read(bf16.weight), exact.read(f32.weight));
    const auto m = exact.read(f32.m), v = exact.read(f32.v);
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

TEST_P(RoundedMoments, DoNotDependOnHowATensorIsCut) {
    constexpr std::int64_t kSize = 1000;
    const auto kernels = GetParam().make();
    const auto run = [&](std::int64_t part) {
        Harness h(*kernels, kSeed);
        const State state(h, kSize, Role::compute);
        for (std::int64_t step = 1; step <= 3; ++step) {
            for (std::int64_t first = 0; first < kSize; first += part)
                state.step(h, step, first, std::min(part, kSize - first));
        }
        h.keep("weight", state.weight);
        h.keep("m", state.m);
        h.keep("v", state.v);
        return h.outputs();
    };
    const Outputs whole = run(kSize);
    for (const std::int64_t part : {64, 333, 7})
        expect_identical(run(part), whole);
}

// A value between two neighbours becomes either, and their mean is the value: within five standard
// deviations of a mean of kSize draws.
TEST_P(RoundedMoments, AreUnbiased) {
    constexpr std::int64_t kSize = 1 << 14;
    const auto kernels = GetParam().make();
    for (const double gradient : {0.3, -7.77, 1e-20}) {
        Harness h(*kernels, kSeed);
        State state(h, kSize, Role::compute);
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

INSTANTIATE_TEST_SUITE_P(Kernels, RoundedMoments, ::testing::ValuesIn(factories_in_bf16()),
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
