#include "engine/hf/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/bf16.h"

namespace rm {
namespace {

TEST(Convert, F16IsWidenedExactly) {
    EXPECT_EQ(f16_to_f32(0x3c00), 1.0F);
    EXPECT_EQ(f16_to_f32(0xc000), -2.0F);
    EXPECT_EQ(f16_to_f32(0x7bff), 65504.0F);
    EXPECT_EQ(f16_to_f32(0x0400), std::ldexp(1.0F, -14));  // the smallest normal
    EXPECT_EQ(f16_to_f32(0x0001), std::ldexp(1.0F, -24));  // the smallest subnormal
    EXPECT_EQ(f16_to_f32(0x83ff), -std::ldexp(1023.0F, -24));
    EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
    EXPECT_EQ(f16_to_f32(0x7c00), std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(f16_to_f32(0x7e00)));
}

TEST(Convert, EveryFiniteF16IsItsSignFractionAndExponent) {
    for (int bits = 0; bits < 0x10000; ++bits) {
        const int exponent = bits >> 10 & 31, fraction = bits & 1023;
        if (exponent == 31) continue;
        const double size =
            exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        const double expected = (bits & 0x8000) != 0 ? -size : size;
        const float actual = f16_to_f32(static_cast<std::uint16_t>(bits));
        ASSERT_EQ(actual, expected) << bits;
        ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << bits;
    }
}

TEST(Convert, Bf16IsRoundedToNearestTiesToEven) {
    const auto rounded = [](std::uint32_t bits) { return to_bf16(std::bit_cast<float>(bits)); };
    EXPECT_EQ(rounded(0x3f800000), 0x3f80);
    EXPECT_EQ(rounded(0x3f807fff), 0x3f80);
    EXPECT_EQ(rounded(0x3f808000), 0x3f80);  // a tie, to even
    EXPECT_EQ(rounded(0x3f808001), 0x3f81);
    EXPECT_EQ(rounded(0x3f818000), 0x3f82);  // a tie, to even
    EXPECT_EQ(rounded(0x7f7fffff), 0x7f80);  // beyond the largest: infinity
    EXPECT_EQ(rounded(0x80000000), 0x8000);
    EXPECT_TRUE(std::isnan(from_bf16(rounded(0x7f800001))));
    EXPECT_TRUE(std::isnan(from_bf16(rounded(0xffffffff))));
}

TEST(Convert, EveryBf16SurvivesTheWayToF32AndBack) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float wide = from_bf16(static_cast<std::uint16_t>(bits));
        if (std::isnan(wide)) continue;
        ASSERT_EQ(to_bf16(wide), bits);
    }
}

TEST(Convert, SpansOfAnyAlignmentWidenAndNarrow) {
    const std::vector<float> values = {1.5F, -2.0F, 0.1F};
    for (const StorageType type : {StorageType::f32, StorageType::bf16}) {
        const auto size = static_cast<std::size_t>(size_of(type));
        std::vector<std::byte> bytes(1 + values.size() * size);
        const auto odd = std::span(bytes).subspan(1);
        narrow<float>(values, type, odd);
        std::vector<double> back(values.size());
        widen<double>(type, odd, back);
        EXPECT_EQ(back[0], 1.5);
        EXPECT_EQ(back[1], -2.0);
        EXPECT_NEAR(back[2], 0.1, type == StorageType::f32 ? 1e-8 : 4e-4);
    }
}

}  // namespace
}  // namespace rm
