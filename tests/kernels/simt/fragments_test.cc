#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/simt/emulator.h"
#include "kernels/simt/simt.h"

// Restates, element by element, which lane holds which element, from the tables of the PTX ISA
// ("Matrix Fragments for mma.m16n8k16", "... mma.m16n8k32", "ldmatrix").
namespace rm::simt {
namespace {

struct At {
    int row, column;
};

// a0 .. a7 and b0 .. b3 of m16n8k16 with 16-bit elements.
struct Sixteen {
    using Sum = float;
    static constexpr int kDepth = 16, kNumA = 8, kNumB = 4, kBits = 16;
    static At a(int lane, int i) {
        const int group = lane >> 2, in_group = lane % 4;
        return {(0 <= i && i < 2) || (4 <= i && i < 6) ? group : group + 8,
                i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8};
    }
    static At b(int lane, int i) {
        const int group = lane >> 2, in_group = lane % 4;
        return {i < 2 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8, group};
    }
};
// a0 .. a15 and b0 .. b7 of m16n8k32 with 8-bit elements.
struct Eight {
    using Sum = float;
    static constexpr int kDepth = 32, kNumA = 16, kNumB = 8, kBits = 8;
    static At a(int lane, int i) {
        const int group = lane >> 2, in_group = lane % 4;
        return {(0 <= i && i < 4) || (8 <= i && i < 12) ? group : group + 8,
                i < 8 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16};
    }
    static At b(int lane, int i) {
        const int group = lane >> 2, in_group = lane % 4;
        return {i < 4 ? in_group * 4 + (i & 3) : in_group * 4 + (i & 3) + 16, group};
    }
};
At sum_at(int lane, int i) {
    return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
}

// Decodes an FP8 code by the definition: (-1)^s 2^(e - bias) 1.m, or 0.m below e = 1.
double value_of(int code, int mantissa_bits, int bias) {
    const int e = (code & 0x7f) >> mantissa_bits, m = code & ((1 << mantissa_bits) - 1);
    const double fraction = std::ldexp(m, -mantissa_bits);
    const double size = e > 0 ? std::ldexp(1 + fraction, e - bias) : std::ldexp(fraction, 1 - bias);
    return code < 128 ? size : -size;
}
double e4m3(int code) {
    return (code & 0x7f) == 0x7f ? NAN : value_of(code, 3, 7);
}
double e5m2(int code) {
    if ((code & 0x7f) == 0x7c) return code < 128 ? HUGE_VAL : -HUGE_VAL;
    return (code & 0x7f) > 0x7c ? NAN : value_of(code, 2, 15);
}
// Finds the code of a number that the format represents exactly.
template <typename Decode>
std::uint32_t code_of(int number, Decode decode) {
    for (int code = 0; code < 256; ++code) {
        if (decode(code) == number) return static_cast<std::uint32_t>(code);
    }
    ADD_FAILURE() << "no code for " << number;
    return 0;
}

struct Bf16 : Sixteen {
    static constexpr int kLargest = 100;
    static std::uint32_t code(int number) {
        return std::bit_cast<std::uint32_t>(static_cast<float>(number)) >> 16;
    }
    static constexpr auto mma = [](auto&... x) { mma_bf16(x...); };
};
struct E4m3 : Eight {
    static constexpr int kLargest = 16;  // and it has every integer to there
    static std::uint32_t code(int number) { return code_of(number, e4m3); }
    static constexpr auto mma = [](auto&... x) { mma_e4m3(x...); };
};
struct E5m2 : Eight {
    static constexpr int kLargest = 8;  // and it has every integer to there
    static std::uint32_t code(int number) { return code_of(number, e5m2); }
    static constexpr auto mma = [](auto&... x) { mma_e5m2(x...); };
};
// The operands have different formats.
struct E4m3E5m2 : E4m3 {
    static constexpr int kLargest = E5m2::kLargest;
    static std::uint32_t code_b(int number) { return E5m2::code(number); }
    static constexpr auto mma = [](auto&... x) { mma_e4m3_e5m2(x...); };
};
struct E5m2E4m3 : E5m2 {
    static std::uint32_t code_b(int number) { return E4m3::code(number); }
    static constexpr auto mma = [](auto&... x) { mma_e5m2_e4m3(x...); };
};
template <typename F>
std::uint32_t code_of_b(int number) {
    if constexpr (requires { F::code_b(number); }) return F::code_b(number);
    return F::code(number);
}
struct S8 : Eight {
    using Sum = std::int32_t;
    static constexpr int kLargest = 127;
    static std::uint32_t code(int number) { return static_cast<std::uint32_t>(number) & 0xff; }
    static constexpr auto mma = [](auto&... x) { mma_s8(x...); };
};

template <typename F>
struct Problem {
    std::array<std::array<std::uint32_t, F::kDepth>, 16> a{};  // codes
    std::array<std::array<std::uint32_t, 8>, F::kDepth> b{};
    std::array<std::array<typename F::Sum, 8>, 16> d{};
};

// Puts element i into the lowest free bits of its register.
template <typename F, std::size_t N>
void put(std::uint32_t (&registers)[N], int i, std::uint32_t code) {
    constexpr int kPerRegister = 32 / F::kBits;
    registers[i / kPerRegister] |= code << i % kPerRegister * F::kBits;
}

// Computes d += a b on one warp.
template <typename F>
void multiply(Problem<F>& p, std::uint64_t seed = 0) {
    const auto body = [&](void*) {
        std::uint32_t a[4] = {}, b[2] = {};
        typename F::Sum d[4];
        for (int i = 0; i < F::kNumA; ++i) {
            const At at = F::a(lane(), i);
            put<F>(a, i,
                   p.a[static_cast<std::size_t>(at.row)][static_cast<std::size_t>(at.column)]);
        }
        for (int i = 0; i < F::kNumB; ++i) {
            const At at = F::b(lane(), i);
            put<F>(b, i,
                   p.b[static_cast<std::size_t>(at.row)][static_cast<std::size_t>(at.column)]);
        }
        const auto sum = [&](int i) -> typename F::Sum& {
            const At at = sum_at(lane(), i);
            return p.d[static_cast<std::size_t>(at.row)][static_cast<std::size_t>(at.column)];
        };
        for (int i = 0; i < 4; ++i)
            d[i] = sum(i);
        F::mma(d, a, b);
        for (int i = 0; i < 4; ++i)
            sum(i) = d[i];
    };
    emulate({}, 32, 0, body, {seed});
}

template <typename F>
class Products : public ::testing::Test {};
using Formats = ::testing::Types<Bf16, E4m3, E5m2, E4m3E5m2, E5m2E4m3, S8>;
TYPED_TEST_SUITE(Products, Formats);

// Sums of products of small integers are exact in any order.
TYPED_TEST(Products, OfSmallIntegersAreExact) {
    using F = TypeParam;
    std::mt19937 random(1);
    std::uniform_int_distribution<int> draw(-F::kLargest, F::kLargest);
    const auto number = [&] { return draw(random); };
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        Problem<F> p;
        int a[16][F::kDepth], b[F::kDepth][8], d[16][8];
        for (std::size_t i = 0; i < 16; ++i) {
            for (std::size_t k = 0; k < F::kDepth; ++k)
                p.a[i][k] = F::code(a[i][k] = number());
            for (std::size_t j = 0; j < 8; ++j)
                p.d[i][j] = static_cast<typename F::Sum>(d[i][j] = number());
        }
        for (std::size_t k = 0; k < F::kDepth; ++k) {
            for (std::size_t j = 0; j < 8; ++j)
                p.b[k][j] = code_of_b<F>(b[k][j] = number());
        }
        multiply(p, seed);
        for (std::size_t i = 0; i < 16; ++i) {
            for (std::size_t j = 0; j < 8; ++j) {
                for (std::size_t k = 0; k < F::kDepth; ++k)
                    d[i][j] += a[i][k] * b[k][j];
                EXPECT_EQ(p.d[i][j], static_cast<typename F::Sum>(d[i][j])) << i << ", " << j;
            }
        }
    }
}

// Multiplies every code by one, sixteen codes at a time.
template <typename F, typename Decode>
void expect_codes(Decode decode) {
    for (std::uint32_t first = 0; first < 256; first += 16) {
        Problem<F> p;
        for (std::size_t i = 0; i < 16; ++i)
            p.a[i][first % F::kDepth] = first + static_cast<std::uint32_t>(i);
        p.b[first % F::kDepth].fill(code_of_b<F>(1));
        multiply(p);
        for (std::size_t i = 0; i < 16; ++i) {
            const auto expected = static_cast<double>(decode(static_cast<int>(first + i)));
            const auto got = static_cast<double>(p.d[i][3]);
            EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected)))
                << "code " << first + i << " is " << expected << ", not " << got;
        }
    }
}

TEST(Fp8Products, DecodeEveryCodeOfE4m3) {
    expect_codes<E4m3>(e4m3);
    expect_codes<E4m3E5m2>(e4m3);
    EXPECT_EQ(e4m3(0x7e), 448);
    EXPECT_EQ(e4m3(1), std::ldexp(1, -9));
}

// 32-bit sums hold what 24 bits of a float would not.
TEST(Int8Products, DecodeEveryCodeAndSumWithoutRounding) {
    expect_codes<S8>([](int code) { return code < 128 ? code : code - 256; });
    Problem<S8> p;
    for (auto& row : p.a)
        row.fill(S8::code(-128));
    for (auto& row : p.b)
        row.fill(S8::code(127));
    p.d[9][2] = (1 << 30) + 1;
    multiply(p);
    EXPECT_EQ(p.d[9][2], (1 << 30) + 1 - 32 * 128 * 127);
}

TEST(Fp8Products, DecodeEveryCodeOfE5m2) {
    expect_codes<E5m2>(e5m2);
    expect_codes<E5m2E4m3>(e5m2);
    EXPECT_EQ(e5m2(0x7b), 57344);
    EXPECT_EQ(e5m2(1), std::ldexp(1, -16));
}

// Loads four tiles; lane 8 i + r passes the address of row r of tile i, wherever the row lies.
class Ldmatrix : public ::testing::TestWithParam<std::uint64_t> {
protected:
    using Element = std::uint16_t;
    static Element element(int tile, int row, int column) {
        return static_cast<Element>(1000 * tile + 10 * row + column);
    }
    // Returns the register values of each lane, with the halves separated.
    template <typename Load>
    std::array<std::array<Element, 8>, 32> load(Load load) const {
        std::array<int, 32> place;  // of every row, shuffled
        std::iota(place.begin(), place.end(), 0);
        std::mt19937 random(3);
        std::shuffle(place.begin(), place.end(), random);
        std::array<std::array<Element, 8>, 32> got;
        const auto body = [&](void* raw) {
            auto* row = static_cast<Element*>(raw) + place[static_cast<std::size_t>(lane())] * 8;
            for (int column = 0; column < 8; ++column)
                row[column] = element(lane() / 8, lane() % 8, column);
            sync_warp();
            std::uint32_t r[4];
            load(r, row);
            for (std::size_t i = 0; i < 8; ++i)
                got[static_cast<std::size_t>(lane())][i] =
                    static_cast<Element>(r[i / 2] >> i % 2 * 16);
        };
        emulate({}, 32, 512, body, {GetParam()});
        return got;
    }
};

TEST_P(Ldmatrix, GivesLaneLTheElementsOfRowLByFour) {
    const auto got = load([](auto& r, const void* row) { ldmatrix_x4(r, row); });
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 8; ++i) {
            EXPECT_EQ(got[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i)],
                      element(i / 2, lane / 4, lane % 4 * 2 + i % 2));
        }
    }
}

TEST_P(Ldmatrix, TransposedGivesThemOfTheColumn) {
    const auto got = load([](auto& r, const void* row) { ldmatrix_x4_trans(r, row); });
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 8; ++i) {
            EXPECT_EQ(got[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i)],
                      element(i / 2, lane % 4 * 2 + i % 2, lane / 4));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Emulator, Ldmatrix, ::testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace rm::simt
