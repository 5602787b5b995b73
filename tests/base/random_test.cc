#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

namespace rm {
namespace {

TEST(Random, IsTheSameOnEveryMachine) {
    // splitmix64 with state 0 (Vigna's reference implementation) starts with this number.
    static_assert(mix64(0) == 0xe220a8397b1dcdafULL);
    EXPECT_EQ(random_at(1, 2, 3), mix64(mix64(mix64(1) ^ 2) ^ 3));
}

TEST(Random, AddressesDoNotCollide) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        for (std::uint64_t stream = 0; stream < 10; ++stream) {
            for (std::uint64_t i = 0; i < 100; ++i)
                seen.insert(random_at(seed, stream, i));
        }
    }
    EXPECT_EQ(seen.size(), 10'000U);
}

TEST(Random, UniformFillsTheUnitInterval) {
    double sum = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        const double u = uniform_at(7, 0, i);
        ASSERT_GE(u, 0);
        ASSERT_LT(u, 1);
        sum += u;
    }
    EXPECT_NEAR(sum / 10'000, 0.5, 0.015);  // five standard deviations
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
    double sum = 0;
    double squares = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        const double x = normal_at(7, 1, i);
        ASSERT_TRUE(std::isfinite(x));
        sum += x;
        squares += x * x;
    }
    EXPECT_NEAR(sum / 10'000, 0, 0.05);
    EXPECT_NEAR(squares / 10'000, 1, 0.075);
}

TEST(Rng, RepeatsForTheSameSeedOnly) {
    Rng a(5), b(5), c(6);
    bool all_same = true;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t number = a();
        EXPECT_EQ(number, b());
        all_same = all_same && number == c();
    }
    EXPECT_FALSE(all_same);
}

TEST(Rng, BelowReachesEveryValueEvenly) {
    Rng rng(11);
    std::array<int, 7> counts{};
    for (int i = 0; i < 7000; ++i)
        ++counts[rng.below(7)];
    for (const int count : counts)
        EXPECT_NEAR(count, 1000, 150);
    EXPECT_EQ(rng.below(1), 0U);
}

TEST(Rng, DrivesStandardAlgorithms) {
    std::array<int, 50> numbers{};
    for (int i = 0; i < 50; ++i)
        numbers[static_cast<std::size_t>(i)] = i;
    const auto ordered = numbers;
    std::shuffle(numbers.begin(), numbers.end(), Rng(3));
    EXPECT_NE(numbers, ordered);
    EXPECT_TRUE(std::is_permutation(numbers.begin(), numbers.end(), ordered.begin()));
}

}  // namespace
}  // namespace rm
