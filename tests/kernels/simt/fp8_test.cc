#include "kernels/fp8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/bf16.h"
#include "kernels/device/quantize_source.cuh"

namespace rm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Fp8Format : public ::testing::TestWithParam<Fp8> {
protected:
    // Rounds in software, as sm_80 and the emulator do.
    static std::uint8_t on_device(float x) {
        const std::uint32_t two =
            GetParam() == Fp8::e4m3 ? simt::round_e4m3x2(-1, x) : simt::round_e5m2x2(-1, x);
        return static_cast<std::uint8_t>(two >> 8);
    }
    static float value(int code) { return from_fp8(GetParam(), static_cast<std::uint8_t>(code)); }
    static int last_finite() { return GetParam() == Fp8::e4m3 ? 0x7e : 0x7b; }
};

// Checks both roundings of x.
#define EXPECT_ROUNDS(x, code)                                                \
    EXPECT_EQ(to_fp8(GetParam(), x), static_cast<std::uint8_t>(code)) << (x); \
    EXPECT_EQ(on_device(x), static_cast<std::uint8_t>(code)) << (x)

TEST_P(Fp8Format, EveryFiniteCodeComesBack) {
    for (int code = 0; code <= last_finite(); ++code) {
        EXPECT_ROUNDS(value(code), code);
        EXPECT_ROUNDS(-value(code), code | 0x80);
        EXPECT_EQ(value(code | 0x80), -value(code));
    }
}

TEST_P(Fp8Format, CodesAreOrderedAsTheirValues) {
    EXPECT_EQ(value(0), 0);
    for (int code = 0; code < last_finite(); ++code)
        EXPECT_LT(value(code), value(code + 1));
    EXPECT_EQ(value(last_finite()), largest(GetParam()));
}

// By definition a number rounds to the nearer neighbour, and a midpoint to the even one.
TEST_P(Fp8Format, EveryMidpointGoesToTheEvenCode) {
    for (int code = 0; code < last_finite(); ++code) {
        const float middle = (value(code) + value(code + 1)) / 2;
        const int even = code % 2 == 0 ? code : code + 1;
        EXPECT_ROUNDS(middle, even);
        EXPECT_ROUNDS(-middle, even | 0x80);
        EXPECT_ROUNDS(std::nextafter(middle, 0.0f), code);
        EXPECT_ROUNDS(std::nextafter(middle, kInfinity), code + 1);
    }
}

TEST_P(Fp8Format, SaturatesAndKeepsOneNaN) {
    for (const float x : {largest(GetParam()) * 1.01f, 1e30f, kInfinity}) {
        EXPECT_ROUNDS(x, last_finite());
        EXPECT_ROUNDS(-x, last_finite() | 0x80);
    }
    EXPECT_ROUNDS(std::numeric_limits<float>::quiet_NaN(), kFp8NaN);
    EXPECT_ROUNDS(-std::numeric_limits<float>::quiet_NaN(), kFp8NaN);
    EXPECT_TRUE(std::isnan(value(kFp8NaN)));
}

TEST_P(Fp8Format, TheDeviceGivesTheHostsBits) {
    for (int bits = 0; bits < 1 << 16; ++bits) {
        const float x = from_bf16(static_cast<Bf16>(bits));
        ASSERT_EQ(on_device(x), to_fp8(GetParam(), x)) << x;
    }
    std::mt19937 random(1);
    for (int i = 0; i < 1 << 20; ++i) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        ASSERT_EQ(on_device(x), to_fp8(GetParam(), x)) << x;
    }
}

TEST_P(Fp8Format, TheScaleIsTheLargestPowerOfTwoThatKeepsAmaxInRange) {
    std::vector<float> maxima = {1, largest(GetParam()), 1e-30f, 3e38f, 0.3f, 1e5f};
    for (const float amax : maxima) {
        const float scale = fp8_scale(GetParam(), amax);
        int exponent = 0;
        EXPECT_EQ(std::frexp(scale, &exponent), 0.5f) << amax;
        EXPECT_LE(amax * scale, largest(GetParam())) << amax;
        EXPECT_GT(amax * scale * 2, largest(GetParam())) << amax;
    }
    for (const float amax : {0.0f, kInfinity, std::numeric_limits<float>::quiet_NaN()})
        EXPECT_EQ(fp8_scale(GetParam(), amax), 1);
    // Even the largest scale has a normal number as its inverse.
    EXPECT_EQ(fp8_scale(GetParam(), std::numeric_limits<float>::denorm_min()), 0x1p126f);
}

INSTANTIATE_TEST_SUITE_P(Formats, Fp8Format, ::testing::Values(Fp8::e4m3, Fp8::e5m2),
                         [](const auto& info) {
                             return info.param == Fp8::e4m3 ? "e4m3" : "e5m2";
                         });

TEST(Fp8, KnownCodes) {
    EXPECT_EQ(from_fp8(Fp8::e4m3, 0x01), std::ldexp(1.0f, -9));
    EXPECT_EQ(from_fp8(Fp8::e4m3, 0x08), std::ldexp(1.0f, -6));
    EXPECT_EQ(from_fp8(Fp8::e4m3, 0x38), 1);
    EXPECT_EQ(from_fp8(Fp8::e4m3, 0xbc), -1.5f);
    EXPECT_EQ(from_fp8(Fp8::e4m3, 0x7e), 448);
    EXPECT_TRUE(std::isnan(from_fp8(Fp8::e4m3, 0xff)));
    EXPECT_EQ(from_fp8(Fp8::e5m2, 0x01), std::ldexp(1.0f, -16));
    EXPECT_EQ(from_fp8(Fp8::e5m2, 0x04), std::ldexp(1.0f, -14));
    EXPECT_EQ(from_fp8(Fp8::e5m2, 0x3c), 1);
    EXPECT_EQ(from_fp8(Fp8::e5m2, 0x7b), 57344);
    EXPECT_EQ(from_fp8(Fp8::e5m2, 0xfc), -kInfinity);
    EXPECT_TRUE(std::isnan(from_fp8(Fp8::e5m2, 0x7d)));
}

}  // namespace
}  // namespace rm
