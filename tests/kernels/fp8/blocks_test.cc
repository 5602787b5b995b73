// Scales of blocks: every backend has the codes, scales and maxima of the definition, a block at a
// time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "kernels/bf16.h"
#include "tests/kernels/factories.h"
#include "tests/support/refusals.h"

namespace rm::test {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Matrix {
    Matrix(std::int64_t num_rows, std::int64_t num_columns)
        : rows(num_rows), columns(num_columns), x(static_cast<std::size_t>(rows * columns)) {}
    float& at(std::int64_t row, std::int64_t column) {
        return x[static_cast<std::size_t>(row * columns + column)];
    }
    float at(std::int64_t row, std::int64_t column) const {
        return x[static_cast<std::size_t>(row * columns + column)];
    }
    std::vector<double> numbers() const { return {x.begin(), x.end()}; }

    std::int64_t rows, columns;
    std::vector<float> x;
};

struct Case {
    std::string name;
    Matrix x;
};

// Numbers of both signs whose sizes differ from block to block; bf16 holds them.
Matrix mixed(std::int64_t T, std::int64_t C) {
    Matrix x(T, C);
    for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t c = 0; c < C; ++c) {
            const auto number = static_cast<float>((t * 131 + c * 7919) % 255 - 127);
            x.at(t, c) = std::ldexp(number, static_cast<int>((t / 50 + c / 60) % 9 - 12));
        }
    }
    return x;
}
// Zeros behind `first`.
Matrix beginning(std::int64_t T, std::int64_t C, const std::vector<float>& first) {
    Matrix x(T, C);
    std::copy(first.begin(), first.end(), x.x.begin());
    return x;
}
Matrix with(Matrix x, std::initializer_list<std::tuple<int, int, float>> numbers) {
    for (const auto& [t, c, number] : numbers)
        x.at(t, c) = from_bf16(to_bf16(number));
    return x;
}

std::vector<Case> cases() {
    std::vector<float> ties, small = {448};
    for (int i = 16; i < 32; ++i) {
        ties.push_back(static_cast<float>(i) + 0.5f);  // between two codes of either format
        ties.push_back(-static_cast<float>(2 * i + 1));
    }
    for (int i = 0; i < 40; ++i)
        small.push_back(static_cast<float>(i) * 0x1p-12f);  // beside 448: denormal codes and zeros
    Matrix nans(130, 144);
    std::fill_n(nans.x.begin(), 128, kNaN);
    return {{"zeros", Matrix(5, 32)},
            {"mixed", mixed(300, 272)},
            {"one_block", mixed(128, 128)},
            {"one_token", mixed(1, 144)},
            {"one_more_token", mixed(129, 16)},
            {"ties", beginning(9, 32, ties)},
            {"denormals", beginning(17, 64, small)},
            {"outlier", with(mixed(200, 272), {{150, 130, 1e4f}})},
            {"infinities", with(mixed(140, 144), {{3, 5, kInf}, {130, 140, -kInf}})},
            {"a_nan", with(mixed(140, 144), {{3, 5, kNaN}, {139, 143, -kNaN}})},
            {"nans_alone", nans},
            {"tiny", beginning(4, 16, {0x1p-126f, 0x1p-130f, -0x1p-120f})},
            {"huge", with(mixed(4, 144), {{0, 0, 3e38f}, {1, 7, -1e38f}})}};
}

float largest_of(const Matrix& x, std::int64_t row, std::int64_t column, std::int64_t height,
                 std::int64_t width) {
    float largest = 0;
    for (std::int64_t r = row; r < std::min(x.rows, row + height); ++r) {
        for (std::int64_t c = column; c < std::min(x.columns, column + width); ++c)
            largest = std::max(largest, std::abs(x.at(r, c)));
    }
    return largest;
}

// The codes and scales that a matrix should get, as Harness::read gives them.
struct Expected {
    Expected(const Matrix& x, Fp8 format, std::int64_t height, std::int64_t width) {
        for (std::int64_t r = 0; r < x.rows; r += height) {
            for (std::int64_t c = 0; c < x.columns; c += width)
                scales.push_back(1 / fp8_scale(format, largest_of(x, r, c, height, width)));
        }
        const std::int64_t across = (x.columns + width - 1) / width;
        for (std::int64_t i = 0; i < x.rows * x.columns; ++i) {
            const std::int64_t r = i / x.columns, c = i % x.columns;
            const auto scale = static_cast<float>(
                scales[static_cast<std::size_t>(r / height * across + c / width)]);
            codes.push_back(to_fp8(format, x.at(r, c) / scale));
            numbers.push_back(from_fp8(format, static_cast<std::uint8_t>(codes.back())) *
                              double{scale});
        }
    }
    std::vector<double> scales, codes, numbers;
};

// With tokens along its rows, up to a multiple of 16.
Matrix turned(const Matrix& x) {
    Matrix to(x.columns, padded_tokens(x.rows));
    for (std::int64_t t = 0; t < x.rows; ++t) {
        for (std::int64_t c = 0; c < x.columns; ++c)
            to.at(c, t) = x.at(t, c);
    }
    return to;
}

TensorView upload(Harness& h, const Matrix& x) {
    const TensorView to = h.output(Role::compute, {x.rows, x.columns});
    Device& device = h.kernels().device();
    h.stream().synchronize();
    if (to.dtype() == DType::f32) {
        device.write(x.x.data(), to);
    } else if (to.dtype() == DType::f64) {
        device.write(x.numbers().data(), to);
    } else {
        std::vector<Bf16> narrow(x.x.size());
        std::transform(x.x.begin(), x.x.end(), narrow.begin(), to_bf16);
        device.write(narrow.data(), to);
    }
    return to;
}

Quantize quantized(Harness& h, const Matrix& x, Fp8 format) {
    const Quantize op{.x = upload(h, x),
                      .rows = h.block_codes(x.rows, x.columns, format),
                      .columns = h.block_codes(x.columns, padded_tokens(x.rows), format),
                      .amax = h.output(Role::f32, {1}),
                      .scaling = Scaling::blocks};
    h.kernels().run(op, h.stream());
    return op;
}

void expect_as_defined(Harness& h, const Matrix& x, const Quantize& op) {
    EXPECT_EQ(h.read(op.amax), std::vector<double>{largest_of(x, 0, 0, x.rows, x.columns)});
    if (!op.rows.empty()) {
        const Expected rows(x, op.format(), 1, kFp8Block);
        EXPECT_EQ(h.read(op.rows.scale), rows.scales);
        EXPECT_EQ(h.read(op.rows.codes), rows.codes);
    }
    if (!op.columns.empty()) {
        const Expected columns(turned(x), op.format(), 1, kFp8Block);
        EXPECT_EQ(h.read(op.columns.scale), columns.scales);
        EXPECT_EQ(h.read(op.columns.codes), columns.codes);
    }
}

void for_backends(const std::function<void(Kernels&)>& check) {
    for (const Factory& factory : kernel_factories()) {
        SCOPED_TRACE(factory.name);
        check(*factory.make());
    }
}

TEST(Fp8Blocks, HaveTheSameCodesAndScalesOnEveryBackend) {
    for_backends([](Kernels& kernels) {
        for (const Case& c : cases()) {
            for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
                SCOPED_TRACE(c.name);
                Harness h(kernels, 1);
                expect_as_defined(h, c.x, quantized(h, c.x, format));
            }
        }
    });
}

TEST(Fp8Blocks, MayBeOfOneOrientationAndMergeTheirMaximum) {
    const Matrix x = mixed(150, 144);
    const float amax = largest_of(x, 0, 0, x.rows, x.columns);
    for_backends([&](Kernels& kernels) {
        for (const bool has_rows : {true, false}) {
            for (const float before : {0.5f * amax, 2 * amax}) {
                Harness h(kernels, 1);
                Quantize op{.x = upload(h, x),
                            .amax = h.output(Role::f32, {1}),
                            .scaling = Scaling::blocks,
                            .largest = h.filled(Role::f32, {1}, before)};
                if (has_rows) op.rows = h.block_codes(150, 144, Fp8::e4m3);
                if (!has_rows) op.columns = h.block_codes(144, 160, Fp8::e4m3);
                kernels.run(op, h.stream());
                expect_as_defined(h, x, op);
                EXPECT_EQ(h.read(op.largest), std::vector<double>{std::max(before, amax)});
            }
        }
    });
}

// The number of elements that differ.
std::size_t num_different(const std::vector<double>& a, const std::vector<double>& b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        count += a[i] != b[i] ? 1 : 0;
    return count;
}

// By the definition of Fp8Effect; `expected` has the rounded numbers.
Fp8Effect effect_of(const Matrix& x, const Expected& expected) {
    Fp8Effect effect;
    for (std::size_t i = 0; i < x.x.size(); ++i) {
        const double number = x.x[i];
        if (!std::isfinite(number)) ++effect.nonfinite;
        if (!std::isfinite(number) || number == 0) continue;
        ++effect.nonzero;
        effect.flushed += expected.numbers[i] == 0 ? 1 : 0;
        effect.squares += number * number;
        effect.squared_error += std::pow(number - expected.numbers[i], 2);
    }
    return effect;
}

// Sums are in f32 within a row of a block: 128 numbers in lanes of at most 32, and a tree.
TEST(Fp8Blocks, AreObservedOnEveryBackend) {
    for_backends([](Kernels& kernels) {
        for (const Case& c : cases()) {
            // Beside an infinity a scale is 1, and other numbers may be too large for it.
            if (c.name == "infinities" || c.name == "tiny") continue;
            for (const Fp8 format : {Fp8::e4m3, Fp8::e5m2}) {
                SCOPED_TRACE(c.name);
                Harness h(kernels, 1);
                const Quantize op{.x = upload(h, c.x),
                                  .rows = h.block_codes(c.x.rows, c.x.columns, format),
                                  .amax = h.output(Role::f32, {1}),
                                  .scaling = Scaling::blocks,
                                  .effect = h.filled(Role::f64, {kFp8EffectNumbers}, 0)};
                kernels.run(op, h.stream());
                const std::vector<double> got = h.read(op.effect);
                const Fp8Effect exact = effect_of(c.x, Expected(c.x, format, 1, kFp8Block));
                EXPECT_EQ(got[0], exact.nonzero);
                EXPECT_EQ(got[1], exact.flushed);
                EXPECT_EQ(got[2], 0) << "a block has its own scale";
                EXPECT_EQ(got[3], exact.nonfinite);
                EXPECT_NEAR(got[4], exact.squares, 50 * 0x1p-24 * exact.squares);
                EXPECT_NEAR(got[5], exact.squared_error, 50 * 0x1p-24 * exact.squared_error);
            }
        }
    });
}

TEST(Fp8Blocks, KeepAnOutlierToItsBlock) {
    const Matrix plain = mixed(200, 272), spoiled = with(plain, {{150, 130, 1e4f}});
    for_backends([&](Kernels& kernels) {
        Harness h(kernels, 1);
        const Quantize a = quantized(h, plain, Fp8::e4m3), b = quantized(h, spoiled, Fp8::e4m3);
        EXPECT_EQ(num_different(h.read(a.rows.scale), h.read(b.rows.scale)), 1U);
        EXPECT_EQ(num_different(h.read(a.columns.scale), h.read(b.columns.scale)), 1U);
        const std::size_t in_row = num_different(h.read(a.rows.codes), h.read(b.rows.codes));
        EXPECT_GT(in_row, 1U);
        EXPECT_LE(in_row, 128U);
        const auto in_column = num_different(h.read(a.columns.codes), h.read(b.columns.codes));
        EXPECT_GT(in_column, 1U);
        EXPECT_LE(in_column, 200U - 128U);
    });
}

// Products with the identity give the weight's numbers.
TEST(Fp8Blocks, OfAWeightHoldTheSameNumbersInBothOrientations) {
    const Matrix w = with(mixed(144, 272), {{10, 3, 1e4f}, {140, 200, 17}});
    const Expected expected(w, Fp8::e4m3, kFp8Block, kFp8Block);
    const auto identity = [](Harness& h, std::int64_t size) {
        Matrix ones(size, size);
        for (std::int64_t i = 0; i < size; ++i)
            ones.at(i, i) = 1;
        return quantized(h, ones, Fp8::e4m3).rows;
    };
    for_backends([&](Kernels& kernels) {
        Harness h(kernels, 1);
        const PreparedWeight& weight = h.prepared(upload(h, w), WeightForm::fp8_blocks);
        const TensorView y = h.output(Role::compute, {272, 144});
        const TensorView d_x = h.output(Role::compute, {144, 272});
        const Fp8LinearFwd fwd{.x = identity(h, 272), .weight = &weight, .y = y};
        kernels.run(fwd, h.workspace(fwd), h.stream());
        const Fp8LinearBwdInput bwd{.d_y = identity(h, 144), .weight = &weight, .d_x = d_x};
        kernels.run(bwd, h.workspace(bwd), h.stream());
        EXPECT_EQ(h.read(d_x), expected.numbers);
        std::vector<double> got = h.read(y), back(got.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            back[i % 144 * 272 + i / 144] = got[i];
        EXPECT_EQ(back, expected.numbers);
    });
}

// A weight given as the master holds it is first what the compute type makes of it.
TEST(Fp8Blocks, OfAWeightAreTheSameFromMasterAndFromComputeNumbers) {
    for_backends([](Kernels& kernels) {
        if (kernels.types().compute != DType::bf16) return;
        Harness h(kernels, 3);
        const TensorView master = h.input(Role::master, {144, 160});
        const TensorView narrow = h.output(Role::compute, {144, 160});
        kernels.run(Copy{.from = master, .to = narrow}, h.stream());
        const Fp8Matrix x = quantized(h, mixed(16, 160), Fp8::e4m3).rows;
        std::vector<std::vector<double>> results;
        for (const TensorView& from : {master, narrow}) {
            const PreparedWeight& weight = h.prepared(from, WeightForm::fp8_blocks);
            const Fp8LinearFwd op{
                .x = x, .weight = &weight, .y = h.output(Role::compute, {16, 144})};
            kernels.run(op, h.workspace(op), h.stream());
            results.push_back(h.read(op.y));
        }
        EXPECT_EQ(results[0], results[1]);
    });
}

class Fp8Forms : public ::testing::Test {
protected:
    template <typename Op>
    std::string refusal_of(const Op& op) {
        return check_error_of([&] { check_operands(op, kernels_->types()); });
    }
    std::unique_ptr<Kernels> kernels_ = kernel_factories().front().make();
    Harness h_{*kernels_, 1};
    const TensorView amax_ = h_.output(Role::f32, {1});
    const TensorView x_ = h_.output(Role::compute, {16, 32});
    const Fp8Matrix one_ = h_.codes(16, 32, Fp8::e4m3), some_ = h_.block_codes(16, 32, Fp8::e4m3);
};

TEST_F(Fp8Forms, OfAProductsOperandsAreOne) {
    const TensorView w = h_.input(Role::master, {16, 32}), y = h_.output(Role::compute, {16, 16});
    const PreparedWeight &whole = h_.prepared(w, WeightForm::fp8),
                         &blocks = h_.prepared(w, WeightForm::fp8_blocks);
    EXPECT_THAT(refusal_of(Fp8LinearFwd{some_, &whole, y}),
                HasSubstr("fp8_linear_fwd: x is in fp8 with scales of blocks, the weight in fp8;"));
    EXPECT_THAT(refusal_of(Fp8LinearFwd{one_, &blocks, y}),
                HasSubstr("x is in fp8, the weight in fp8 with scales of blocks"));
    EXPECT_THAT(refusal_of(Fp8LinearFwd{some_, &h_.prepared(w), y}),
                HasSubstr("the weight in the compute type"));
    EXPECT_THAT(refusal_of(Fp8LinearBwdInput{h_.codes(16, 16, Fp8::e5m2), &blocks, x_}),
                HasSubstr("fp8_linear_bwd_input: d_y is in fp8, the weight in fp8 with scales"));
    const TensorView d_weight = h_.output(Role::accum, {16, 16});
    EXPECT_THAT(refusal_of(Fp8LinearBwdWeight{one_, some_, d_weight}),
                HasSubstr("fp8_linear_bwd_weight: d_y is in fp8, x in fp8 with scales of blocks"));
}

TEST_F(Fp8Forms, OfScalesFollowTheScaling) {
    EXPECT_THAT(refusal_of(Quantize{x_, one_, {}, amax_, Scaling::blocks}),
                HasSubstr("a scale is (1) f32; blocks have one each"));
    EXPECT_THAT(refusal_of(Quantize{x_, some_, {}, amax_}),
                HasSubstr("a scale is (16, 1) f32; it should be one"));
    const Fp8Matrix wrong{some_.codes, h_.output(Role::f32, {16, 2})};
    EXPECT_THAT(refusal_of(Quantize{x_, wrong, {}, amax_, Scaling::blocks}),
                HasSubstr("a scale is (16, 2) f32, should be (16, 1)"));
}

}  // namespace
}  // namespace rm::test
