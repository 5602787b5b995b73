#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/cuda/fp8/blocks.h"
#include "tests/kernels/simt/seeds.h"

// The product of codes with scales of blocks, on the emulator. Small integers and powers of two:
// sums are exact in any order, so that results are equal to the host's, bit for bit.
namespace rm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Shape {
    std::int64_t rows, columns, depth;
};

// A matrix of codes, aligned as the memory of a device is.
class Operand {
public:
    Operand(std::int64_t rows, std::int64_t depth, Fp8 format, std::int64_t rows_per_scale,
            std::uint32_t seed)
        : rows_(rows), depth_(depth), rows_per_scale_(rows_per_scale), format_(format) {
        std::mt19937 random(seed);
        std::uniform_int_distribution<int> number(-4, 4), exponent(-2, 2);
        for (std::int64_t i = 0; i < rows * depth; ++i)
            codes_.push_back(to_fp8(format, static_cast<float>(number(random))));
        const std::int64_t down = (rows + rows_per_scale - 1) / rows_per_scale;
        for (std::int64_t i = 0; i < down * fp8_blocks(depth); ++i)
            scales_.push_back(std::ldexp(1.0f, exponent(random)));
    }
    Fp8Matrix view() {
        return {{codes_.data(), DType::u8, {rows_, depth_}},
                {scales_.data(),
                 DType::f32,
                 {std::ssize(scales_) / fp8_blocks(depth_), fp8_blocks(depth_)}},
                format_};
    }
    float number(std::int64_t row, std::int64_t column) const {
        const std::int64_t scale = row / rows_per_scale_ * fp8_blocks(depth_) + column / kFp8Block;
        return from_fp8(format_, codes_[static_cast<std::size_t>(row * depth_ + column)]) *
               scales_[static_cast<std::size_t>(scale)];
    }
    std::vector<float>& scales() { return scales_; }

private:
    std::int64_t rows_, depth_, rows_per_scale_;
    Fp8 format_;
    std::vector<std::uint8_t> codes_;
    std::vector<float> scales_;
};

void multiply(const cuda::Fp8Product& product, std::uint64_t seed) {
    const auto device = make_host_device();
    const auto stream = device->make_stream("product");
    const GpuProfile profile;
    cuda::multiply_blocks(product, {.stream = *stream, .profile = profile, .emulation = {seed}});
    stream->synchronize();
}

std::vector<float> on_host(const Operand& a, const Operand& b, const Shape& s, float before) {
    std::vector<float> out;
    for (std::int64_t i = 0; i < s.rows; ++i) {
        for (std::int64_t j = 0; j < s.columns; ++j) {
            float sum = before;
            for (std::int64_t k = 0; k < s.depth; ++k)
                sum += a.number(i, k) * b.number(j, k);
            out.push_back(sum);
        }
    }
    return out;
}

class BlockProduct : public ::testing::TestWithParam<Shape> {
protected:
    void expect_equal(Fp8 a_format, Fp8 b_format, std::int64_t rows_per_scale) const {
        const auto [rows, columns, depth] = GetParam();
        Operand a(rows, depth, a_format, 1, 1);
        Operand b(columns, depth, b_format, rows_per_scale, 2);
        for (const Into into : {Into::overwrite, Into::add}) {
            const std::vector<float> expected =
                on_host(a, b, GetParam(), into == Into::add ? 3.0f : 0.0f);
            std::vector<Bf16> rounded(expected.size());
            std::transform(expected.begin(), expected.end(), rounded.begin(), to_bf16);
            for (std::uint64_t seed = 0; seed < std::min<std::uint64_t>(kNumSeeds, 2); ++seed) {
                std::vector<float> wide(expected.size(), 3);
                multiply({a.view(), b.view(), {wide.data(), DType::f32, {rows, columns}}, into},
                         seed);
                EXPECT_EQ(wide, expected) << "seed " << seed;
                std::vector<Bf16> narrow(expected.size(), to_bf16(3));
                multiply({a.view(), b.view(), {narrow.data(), DType::bf16, {rows, columns}}, into},
                         seed);
                EXPECT_EQ(narrow, rounded) << "seed " << seed;
            }
        }
    }
};

TEST_P(BlockProduct, OfAWeight) {
    expect_equal(Fp8::e4m3, Fp8::e4m3, kFp8Block);
}
TEST_P(BlockProduct, OfAGradientAndAWeight) {
    expect_equal(Fp8::e5m2, Fp8::e4m3, kFp8Block);
}
TEST_P(BlockProduct, OfTwoActivations) {
    expect_equal(Fp8::e4m3, Fp8::e4m3, 1);
}
TEST_P(BlockProduct, OfAnActivationAndAGradient) {
    expect_equal(Fp8::e4m3, Fp8::e5m2, 1);
}

INSTANTIATE_TEST_SUITE_P(Fp8, BlockProduct,
                         ::testing::Values(Shape{1, 16, 16}, Shape{70, 128, 128},
                                           Shape{130, 144, 272}, Shape{257, 16, 400}),
                         [](const auto& info) {
                             const Shape& s = info.param;
                             return std::to_string(s.rows) + "x" + std::to_string(s.columns) + "x" +
                                    std::to_string(s.depth);
                         });

// Scales are applied one after the other: a product of two may be infinite, or zero.
TEST(BlockProducts, TakeScalesWhoseProductIsOutOfRange) {
    Operand a(16, 128, Fp8::e4m3, 1, 5), b(16, 128, Fp8::e4m3, 1, 6);
    std::fill(a.scales().begin(), a.scales().end(), 0x1p-100f);
    std::fill(b.scales().begin(), b.scales().end(), 0x1p-48f);
    std::vector<float> out(256);
    const TensorView to(out.data(), DType::f32, {16, 16});
    multiply({a.view(), b.view(), to}, 0);
    EXPECT_EQ(out, on_host(a, b, {16, 16, 128}, 0));
    a.scales()[3] = 0x1p100f;
    std::fill(b.scales().begin(), b.scales().end(), 0x1p100f);
    const Fp8Matrix zeros = b.view();
    std::fill_n(zeros.codes.as<std::uint8_t>(), 16 * 128, std::uint8_t{0});
    multiply({a.view(), zeros, to}, 0);
    EXPECT_EQ(out, std::vector<float>(256));
}

TEST(BlockProducts, AddNothingWithoutDepth) {
    std::vector<float> out(256, 2);
    const Fp8Matrix none{{nullptr, DType::u8, {16, 0}}, {nullptr, DType::f32, {16, 0}}};
    const TensorView to(out.data(), DType::f32, {16, 16});
    multiply({none, none, to, Into::add}, 0);
    EXPECT_EQ(out, std::vector<float>(256, 2));
    multiply({none, none, to}, 0);
    EXPECT_EQ(out, std::vector<float>(256));
}

TEST(BlockProducts, NeedAnInstructionOfTheGpu) {
    Operand a(16, 16, Fp8::e4m3, 1, 5), b(16, 16, Fp8::e4m3, 1, 6);
    std::vector<float> out(256);
    const auto device = make_host_device();
    const auto stream = device->make_stream("product");
    const GpuProfile profile{.arch = 80};
    const auto refused = [&] {
        cuda::multiply_blocks({a.view(), b.view(), {out.data(), DType::f32, {16, 16}}},
                              {.stream = *stream, .profile = profile});
    };
    EXPECT_THAT(refused, ThrowsMessage<CheckError>(HasSubstr("need sm_89; this is sm_80")));
}

}  // namespace
}  // namespace rm
