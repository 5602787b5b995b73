#define RM_SIMD tile_unit_under_test
#include "kernels/cpu/simd/tile_unit.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/harness.h"

// Compares the model of the tile instructions with Intel's manual and, on a CPU that has them, the
// instructions with the model.
namespace rm::test {
namespace {

using tile_unit_under_test::kSide;
using tile_unit_under_test::TileUnit;

using Floats = std::array<float, 256>;         // (16, 16)
using Pairs = std::array<std::uint32_t, 256>;  // (16, 16), the first number in the low half

std::uint32_t bf16_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits >> 16;
}
std::uint32_t pair(float first, float second) {
    return bf16_of(first) | bf16_of(second) << 16;
}

Floats product(const Pairs& a, const Pairs& b, Floats c) {
    TileUnit unit;
    unit.load<0>(c.data(), kSide);
    unit.load<1>(reinterpret_cast<const float*>(a.data()), kSide);
    unit.load<2>(reinterpret_cast<const float*>(b.data()), kSide);
    unit.multiply<0, 1, 2>();
    unit.store<0>(c.data(), kSide);
    return c;
}

TEST(TileUnit, AddsTheProductOfPairsToWhatTheTileHeld) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> number(-8, 8);  // every sum is exact
    std::array<std::array<float, 32>, 16> left;
    std::array<std::array<float, 16>, 32> right;
    Pairs a, b;
    Floats c, expected;
    for (auto& row : left)
        for (float& value : row)
            value = static_cast<float>(number(random));
    for (auto& row : right)
        for (float& value : row)
            value = static_cast<float>(number(random));
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 16; ++j) {
            a[i * 16 + j] = pair(left[i][2 * j], left[i][2 * j + 1]);
            b[i * 16 + j] = pair(right[2 * i][j], right[2 * i + 1][j]);
            expected[i * 16 + j] = c[i * 16 + j] = static_cast<float>(number(random));
            for (std::size_t k = 0; k < 32; ++k)
                expected[i * 16 + j] += left[i][k] * right[k][j];
        }
    }
    EXPECT_EQ(product(a, b, c), expected);
}

// 2^24 + 1 rounds to 2^24, so the last bit shows which terms are added in which order.
TEST(TileUnit, SumsFirstAndSecondNumbersInChainsOfTheirOwn) {
    Pairs a{}, b{};
    const std::array<std::array<float, 2>, 3> terms{{{0x1p24f, 1}, {1, 1}, {-0x1p24f, 1}}};
    for (std::size_t k = 0; k < terms.size(); ++k) {
        a[k] = pair(terms[k][0], terms[k][1]);
        b[k * 16] = pair(1, 1);
    }
    Floats c{};
    c[0] = 0x1p24f;
    // First numbers: (2^24 + 1) - 2^24 = 0. Second: 3. Added to the tile's 2^24: 2^24 + 3, a tie.
    EXPECT_EQ(product(a, b, c)[0], 0x1p24f + 4);
    c[0] = 0;
    EXPECT_EQ(product(a, b, c)[0], 3);
}

TEST(TileUnit, TakesDenormalNumbersForZero) {
    Pairs a{}, b{};
    a[0] = pair(0x1p-130f, 0);  // a denormal operand
    b[0] = pair(0x1p100f, 0);
    a[16] = pair(0x1p-80f, 0);  // a product below the smallest normal number
    b[1] = pair(0x1p-60f, 0);
    Floats c{};
    c[2] = 0x1p-140f;
    const Floats result = product(a, b, c);
    EXPECT_EQ(result[0], 0);
    EXPECT_EQ(result[17], 0);
    EXPECT_EQ(result[2], 0);
}

TEST(TileUnit, OnACpuWithTilesGivesTheBitsOfTheModel) {
    if (!can_run(CpuCode::own_amx)) GTEST_SKIP() << "this CPU has no AMX tiles of bf16";
    const auto run = [](CpuCode code) {
        const auto kernels = make_cpu_kernels({.code = code, .compute = DType::bf16});
        Harness h(*kernels, 11);
        const LinearFwd forward{.x = h.input(Role::compute, {300, 150}),
                                .weight = &h.prepared(130, 150),
                                .y = h.output(Role::compute, {300, 130})};
        const LinearBwdWeight backward{.d_y = h.input(Role::compute, {300, 130}),
                                       .x = forward.x,
                                       .d_weight = h.input(Role::accum, {130, 150})};
        kernels->run(forward, h.workspace(forward), h.stream());
        kernels->run(backward, h.workspace(backward), h.stream());
        h.keep("y", forward.y);
        h.keep("d_weight", backward.d_weight);
        return h.outputs();
    };
    expect_identical(run(CpuCode::own_amx), run(CpuCode::own_tile_model));
}

}  // namespace
}  // namespace rm::test
