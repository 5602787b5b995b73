// Every backend rounds to the same codes, scales and maxima, whatever is in a tensor: those of the
// definitions in kernels/fp8.h, a number at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/bf16.h"
#include "tests/kernels/factories.h"

namespace rm::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
    std::string name;
    std::int64_t T = 0, C = 0;
    std::vector<float> numbers;  // the first of the tensor; the others count up
    float rest = 0;              // in steps of this
};

std::vector<Case> cases() {
    std::vector<float> ties, small;
    for (int i = 16; i < 32; ++i) {
        ties.push_back(static_cast<float>(i) + 0.5f);  // between two codes of either format
        ties.push_back(-static_cast<float>(2 * i + 1));
    }
    for (int i = 0; i < 40; ++i)
        small.push_back(static_cast<float>(i) * 0x1p-12f);  // beside 448: denormal codes and zeros
    small.push_back(448);
    return {{"zeros", 5, 32, {}, 0},
            {"one_tile_and_more", 130, 272, {}, 1e-3f},
            {"ties", 9, 16, ties, 0},
            {"denormals", 17, 16, small, 0},
            {"largest_e4m3", 3, 16, {448, -448, 449, 464, 465}, 0},
            {"largest_e5m2", 3, 16, {57344, -57344, 57345, 61440, 61441}, 0},
            {"an_outlier", 33, 48, {1e4f}, 1e-2f},
            {"infinities", 2, 16, {kInf, -kInf, 1, 3}, 0},
            {"nans", 2, 16, {kNaN, -kNaN, 2, 0.001f}, 0},
            {"nans_alone", 1, 16, std::vector<float>(16, kNaN), 0},
            {"tiny", 4, 16, {0x1p-126f, 0x1p-130f, -0x1p-120f}, 0},
            {"huge", 4, 16, {3e38f, -1e38f, 1}, 0}};
}

// As bf16, which every type holds.
std::vector<float> numbers_of(const Case& c) {
    std::vector<float> x(static_cast<std::size_t>(c.T * c.C));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const float number = i < c.numbers.size() ? c.numbers[i] : static_cast<float>(i) * c.rest;
        x[i] = from_bf16(to_bf16(i % 2 == 0 || i < c.numbers.size() ? number : -number));
    }
    return x;
}

float largest_of(const std::vector<float>& x) {
    float largest = 0;
    for (const float number : x)
        largest = std::max(largest, std::abs(number));
    return largest;
}

TensorView upload(Harness& h, const std::vector<float>& x, std::int64_t T, std::int64_t C) {
    const TensorView to = h.output(Role::compute, {T, C});
    Device& device = h.kernels().device();
    h.stream().synchronize();
    if (to.dtype() == DType::f32) {
        device.write(x.data(), to);
    } else if (to.dtype() == DType::f64) {
        device.write(std::vector<double>(x.begin(), x.end()).data(), to);
    } else {
        std::vector<Bf16> narrow(x.size());
        std::transform(x.begin(), x.end(), narrow.begin(), to_bf16);
        device.write(narrow.data(), to);
    }
    return to;
}

void expect_codes(Harness& h, const Case& c, const Quantize& op) {
    const std::vector<float> x = numbers_of(c);
    const float amax = largest_of(x), factor = fp8_scale(op.format(), amax);
    const std::int64_t P = padded_tokens(c.T);
    EXPECT_EQ(h.read(op.amax), std::vector<double>{amax});
    for (const Fp8Matrix& to : {op.rows, op.columns}) {
        if (to.empty()) continue;
        EXPECT_EQ(h.read(to.scale), std::vector<double>{1 / factor});
    }
    std::vector<double> rows, columns(static_cast<std::size_t>(c.C * P));
    for (std::size_t i = 0; i < x.size(); ++i) {
        rows.push_back(to_fp8(op.format(), x[i] * factor));
        const std::int64_t t = static_cast<std::int64_t>(i) / c.C;
        const std::int64_t column = static_cast<std::int64_t>(i) % c.C;
        columns[static_cast<std::size_t>(column * P + t)] = rows.back();
    }
    if (!op.rows.empty()) {
        EXPECT_EQ(h.read(op.rows.codes), rows);
    }
    if (!op.columns.empty()) {
        EXPECT_EQ(h.read(op.columns.codes), columns);
    }
}

void quantize_as_defined(Kernels& kernels, const Case& c, Fp8 format) {
    const std::int64_t P = padded_tokens(c.T);
    for (const auto& [has_rows, has_columns] :
         {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
        Harness h(kernels, 1);
        Quantize op{.x = upload(h, numbers_of(c), c.T, c.C), .amax = h.output(Role::f32, {1})};
        if (has_rows) op.rows = h.codes(c.T, c.C, format);
        if (has_columns) op.columns = h.codes(c.C, P, format);
        kernels.run(op, h.stream());
        expect_codes(h, c, op);
    }
}

TEST(Quantize, GivesTheSameCodesOnEveryBackend) {
    for (const Factory& factory : kernel_factories()) {
        const auto kernels = factory.make();
        for (const Case& c : cases()) {
            for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
                SCOPED_TRACE(factory.name + ", " + c.name);
                quantize_as_defined(*kernels, c, format);
            }
        }
    }
}

// Numbers beyond the range of a scale that is given become the largest ones, on every backend.
TEST(Quantize, KeepsAGivenScale) {
    constexpr std::int64_t T = 130, C = 144;
    const Case c{"given", T, C, {1000, -448, 449, 0.001f, -0.0009f, 0, 0x1p-10f}, 1e-2f};
    const std::vector<float> x = numbers_of(c);
    const float scale = 0.5f;
    for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
        std::vector<double> codes;
        for (const float number : x)
            codes.push_back(to_fp8(format, number / scale));
        for (const Factory& factory : kernel_factories()) {
            SCOPED_TRACE(factory.name);
            const auto kernels = factory.make();
            Harness h(*kernels, 1);
            for (const float before : {5.0f, 5000.0f}) {
                const Quantize op{.x = upload(h, x, T, C),
                                  .rows = {h.filled(Role::u8, {T, C}, 0),
                                           h.filled(Role::f32, {1}, scale), format},
                                  .amax = h.output(Role::f32, {1}),
                                  .scaling = Scaling::given,
                                  .largest = h.filled(Role::f32, {1}, before)};
                kernels->run(op, h.stream());
                EXPECT_EQ(h.read(op.rows.scale), std::vector<double>{scale});
                EXPECT_EQ(h.read(op.amax), std::vector<double>{1000});
                EXPECT_EQ(h.read(op.largest), std::vector<double>{std::max(before, 1000.0f)});
                EXPECT_EQ(h.read(op.rows.codes), codes);
            }
        }
    }
}

// Counts are exact. Sums are in f32 of at most 64 x 64 or 128 x 128 numbers, in lanes of at most
// 256 and a tree: 300 roundings. `lost`: squares too small for f32.
void expect_effect(const std::vector<double>& got, const Fp8Effect& exact, double lost) {
    ASSERT_EQ(got.size(), static_cast<std::size_t>(kFp8EffectNumbers));
    EXPECT_EQ(got[0], exact.nonzero);
    EXPECT_EQ(got[1], exact.flushed);
    EXPECT_EQ(got[2], exact.saturated);
    EXPECT_EQ(got[3], exact.nonfinite);
    EXPECT_NEAR(got[4], exact.squares, 300 * 0x1p-24 * exact.squares + lost);
    EXPECT_NEAR(got[5], exact.squared_error, 300 * 0x1p-24 * exact.squared_error + lost);
}

Fp8Effect effect_of(const std::vector<float>& x, Fp8 format, float scale) {
    Fp8Effect effect;
    for (const float number : x) {
        const double scaled = static_cast<double>(number) / scale;
        if (!std::isfinite(number)) ++effect.nonfinite;
        if (!std::isfinite(number) || number == 0) continue;
        const double rounded = from_fp8(format, to_fp8(format, static_cast<float>(scaled)));
        const double counted = std::clamp(scaled, -0x1p48, 0x1p48);
        ++effect.nonzero;
        effect.flushed += rounded == 0 ? 1 : 0;
        effect.saturated += std::abs(scaled) > largest(format) ? 1 : 0;
        effect.squares += std::pow(counted * scale, 2);
        effect.squared_error += std::pow((counted - rounded) * scale, 2);
    }
    return effect;
}

// Twice, because an effect is added to.
void expect_observed(Kernels& kernels, const Case& c, Fp8 format, std::optional<float> given) {
    Harness h(kernels, 1);
    const std::vector<float> x = numbers_of(c);
    const float own = 1 / fp8_scale(format, largest_of(x));
    const Quantize op{.x = upload(h, x, c.T, c.C),
                      .rows = {h.filled(Role::u8, {c.T, c.C}, 0),
                               h.filled(Role::f32, {1}, given.value_or(own)), format},
                      .amax = h.output(Role::f32, {1}),
                      .scaling = given ? Scaling::given : Scaling::current,
                      .effect = h.filled(Role::f64, {kFp8EffectNumbers}, 0)};
    Fp8Effect expected = effect_of(x, format, given.value_or(own));
    for (double* number : {&expected.nonzero, &expected.flushed, &expected.saturated,
                           &expected.nonfinite, &expected.squares, &expected.squared_error})
        *number *= 2;
    kernels.run(op, h.stream());
    kernels.run(op, h.stream());
    const double smallest = 0x1p-60 * given.value_or(own);
    expect_effect(h.read(op.effect), expected, 2 * expected.nonzero * smallest * smallest);
}

TEST(Quantize, ObservesWhatRoundingDoesOnEveryBackend) {
    for (const Factory& factory : kernel_factories()) {
        const auto kernels = factory.make();
        for (const Case& c : cases()) {
            for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
                SCOPED_TRACE(factory.name + ", " + c.name);
                expect_observed(*kernels, c, format, std::nullopt);
                expect_observed(*kernels, c, format, 0x1p-6f);
                expect_observed(*kernels, c, format, 0x1p-100f);
            }
        }
    }
}

// All numbers of bf16; in f32 a million others, over all exponents.
std::vector<float> numbers_for(DType compute) {
    std::vector<float> x;
    for (std::uint32_t i = 0; i < 1u << (compute == DType::bf16 ? 16 : 20); ++i)
        x.push_back(std::bit_cast<float>(compute == DType::bf16 ? i << 16 : i * 4099));
    return x;
}

TEST(Quantize, RoundsEveryNumberAsDefined) {
    for (const Factory& factory : kernel_factories()) {
        const auto kernels = factory.make();
        const DType compute = kernels->types().compute;
        if (factory.name.starts_with("emu") || compute == DType::f64) continue;  // pack_test, ref
        const std::vector<float> x = numbers_for(compute);
        const auto T = static_cast<std::int64_t>(x.size()) / 64;
        for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
            SCOPED_TRACE(factory.name);
            Harness h(*kernels, 1);
            const Quantize op{
                .x = upload(h, x, T, 64),
                .rows = {h.filled(Role::u8, {T, 64}, 0), h.filled(Role::f32, {1}, 1), format},
                .amax = h.output(Role::f32, {1}),
                .scaling = Scaling::given};
            kernels->run(op, h.stream());
            std::vector<double> codes;
            for (const float number : x)
                codes.push_back(to_fp8(format, number));
            EXPECT_TRUE(h.read(op.rows.codes) == codes);
        }
    }
}

// The numbers that the weight's codes stand for, read by a product with the identity; both
// orientations must have them.
TEST(Fp8Weight, HoldsTheSameNumbersInBothOrientationsOnEveryBackend) {
    constexpr std::int64_t N = 32, K = 48;
    Case c{"weight", N, K, {1e4f, 17, -19, 0.25f}, 1e-2f};
    const std::vector<float> w = numbers_of(c);
    const float factor = fp8_scale(Fp8::e4m3, largest_of(w));
    std::vector<double> expected, turned(w.size());
    for (const float number : w)
        expected.push_back(from_fp8(Fp8::e4m3, to_fp8(Fp8::e4m3, number * factor)) / factor);
    for (std::int64_t n = 0; n < N; ++n) {
        for (std::int64_t k = 0; k < K; ++k)
            turned[static_cast<std::size_t>(k * N + n)] =
                expected[static_cast<std::size_t>(n * K + k)];
    }
    const auto identity = [](Harness& h, std::int64_t size) {
        std::vector<float> ones(static_cast<std::size_t>(size * size));
        for (std::int64_t i = 0; i < size; ++i)
            ones[static_cast<std::size_t>(i * size + i)] = 1;
        const Fp8Matrix codes = h.codes(size, size, Fp8::e4m3);
        h.kernels().run(
            Quantize{
                .x = upload(h, ones, size, size), .rows = codes, .amax = h.output(Role::f32, {1})},
            h.stream());
        return codes;
    };
    for (const Factory& factory : kernel_factories()) {
        SCOPED_TRACE(factory.name);
        const auto kernels = factory.make();
        Harness h(*kernels, 1);
        const PreparedWeight& weight = h.prepared(upload(h, w, N, K), WeightForm::fp8);
        const TensorView y = h.output(Role::compute, {K, N}), d_x = h.output(Role::compute, {N, K});
        const Fp8LinearFwd fwd{.x = identity(h, K), .weight = &weight, .y = y};
        kernels->run(fwd, h.workspace(fwd), h.stream());
        const Fp8LinearBwdInput bwd{.d_y = identity(h, N), .weight = &weight, .d_x = d_x};
        kernels->run(bwd, h.workspace(bwd), h.stream());
        EXPECT_EQ(h.read(y), turned);
        EXPECT_EQ(h.read(d_x), expected);
    }
}

// A weight given as the master holds it is first what the compute type makes of it.
TEST(Fp8Weight, IsTheSameFromMasterAndFromComputeNumbers) {
    for (const Factory& factory : kernel_factories()) {
        const auto kernels = factory.make();
        if (kernels->types().compute != DType::bf16) continue;
        SCOPED_TRACE(factory.name);
        Harness h(*kernels, 3);
        const TensorView master = h.input(Role::master, {64, 32});
        const TensorView narrow = h.output(Role::compute, {64, 32});
        kernels->run(Copy{.from = master, .to = narrow}, h.stream());
        const Fp8Matrix x = h.codes(16, 32, Fp8::e4m3);
        kernels->run(
            Quantize{
                .x = h.input(Role::compute, {16, 32}), .rows = x, .amax = h.output(Role::f32, {1})},
            h.stream());
        std::vector<std::vector<double>> results;
        for (const TensorView& from : {master, narrow}) {
            const PreparedWeight& weight = h.prepared(from, WeightForm::fp8);
            const Fp8LinearFwd op{
                .x = x, .weight = &weight, .y = h.output(Role::compute, {16, 64})};
            kernels->run(op, h.workspace(op), h.stream());
            results.push_back(h.read(op.y));
        }
        EXPECT_EQ(results[0], results[1]);
    }
}

TEST(Fp8Linear, RefusesAWeightOfTheOtherForm) {
    const auto kernels = kernel_factories().front().make();
    Harness h(*kernels, 1);
    const LinearFwd op{.x = h.input(Role::compute, {16, 32}),
                       .weight = &h.prepared(h.input(Role::master, {16, 32}), WeightForm::fp8),
                       .y = h.output(Role::compute, {16, 16})};
    const auto run = [&] {
        kernels->run(op, h.workspace(op), h.stream());
        h.stream().synchronize();
    };
    EXPECT_ANY_THROW(run());
}

}  // namespace
}  // namespace rm::test
