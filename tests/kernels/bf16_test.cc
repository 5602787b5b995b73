#include "kernels/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace rm {
namespace {

constexpr std::uint32_t kNumValues = 1 << 16;

TEST(Bf16Values, SurviveF32) {
    for (std::uint32_t bits = 0; bits < kNumValues; ++bits) {
        const auto value = static_cast<Bf16>(bits);
        const float wide = from_bf16(value);
        if (std::isnan(wide)) {
            EXPECT_TRUE(std::isnan(from_bf16(to_bf16(wide)))) << bits;
        } else {
            EXPECT_EQ(to_bf16(wide), value) << bits;
        }
    }
}

TEST(Bf16Values, RoundToTheNearestAndTiesToEven) {
    EXPECT_EQ(from_bf16(to_bf16(1.0F + 1.0F / 256)), 1.0F);
    EXPECT_EQ(from_bf16(to_bf16(1.0F + 3.0F / 256)), 1.0F + 4.0F / 256);
    EXPECT_EQ(from_bf16(to_bf16(1.0F + 1.01F / 256)), 1.0F + 2.0F / 256);
    EXPECT_EQ(from_bf16(to_bf16(-1.0F - 1.01F / 256)), -1.0F - 2.0F / 256);
    constexpr std::uint64_t kSeed = 3;
    for (std::uint64_t i = 0; i < 10000; ++i) {
        const auto x = static_cast<float>(std::ldexp(normal_at(kSeed, 0, i), int(i % 200) - 100));
        const Bf16 rounded = to_bf16(x);
        const float error = std::abs(from_bf16(rounded) - x);
        for (const int step : {-1, 1}) {
            const float other = from_bf16(static_cast<Bf16>(rounded + step));
            EXPECT_LE(error, std::abs(other - x)) << "seed " << kSeed << ", number " << i;
        }
    }
}

TEST(Bf16Values, KeepInfinitiesAndNaN) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(from_bf16(to_bf16(kInf)), kInf);
    EXPECT_EQ(from_bf16(to_bf16(-kInf)), -kInf);
    EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())), kInf);
    // NaNs with a payload only in the lower half, and payloads that rounding up would overflow.
    for (const std::uint32_t bits : {0x7f800001U, 0xff800001U, 0x7fffffffU, 0xffffffffU}) {
        EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(bits))))) << bits;
    }
}

}  // namespace
}  // namespace rm
