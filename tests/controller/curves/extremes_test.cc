#include "controller/curves/extremes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace rm::test {
namespace {

TEST(Extremes, KeepEndsPeaksValleysAndWhatIsNoNumber) {
    std::mt19937 random(3);
    std::normal_distribution<double> value;
    CurveLine part;
    for (std::int64_t step = 10; step < 1034; ++step)
        part.add(step, value(random));
    part.values[500] = std::numeric_limits<double>::quiet_NaN();
    part.values[501] = std::numeric_limits<double>::infinity();
    CurveLine kept;
    append_extremes(part, 100, kept);
    EXPECT_LE(kept.size(), 2u * 11 + 2 + 2);
    EXPECT_TRUE(std::is_sorted(kept.steps.begin(), kept.steps.end()));
    EXPECT_EQ(std::adjacent_find(kept.steps.begin(), kept.steps.end()), kept.steps.end());
    EXPECT_EQ(kept.steps.front(), 10);
    EXPECT_EQ(kept.steps.back(), 1033);
    const auto has = [&](std::size_t i) {
        return std::binary_search(kept.steps.begin(), kept.steps.end(), part.steps[i]);
    };
    EXPECT_TRUE(has(500) && has(501));
    for (std::size_t begin = 1; begin < 1023; begin += 100) {
        std::size_t low = begin;
        for (std::size_t i = begin; i < std::min<std::size_t>(begin + 100, 1023); ++i) {
            if (part.values[i] < part.values[low]) low = i;
        }
        EXPECT_TRUE(has(low)) << low;
    }
}

TEST(Extremes, OfGroupsOfOneAreAllPoints) {
    const CurveLine part{{1, 2, 3}, {5, 5, 5}};
    CurveLine kept;
    append_extremes(part, 1, kept);
    EXPECT_EQ(kept, part);
    CurveLine one;
    append_extremes({{7}, {1}}, 10, one);
    EXPECT_EQ(one.steps, std::vector<std::int64_t>{7});
}

}  // namespace
}  // namespace rm::test
