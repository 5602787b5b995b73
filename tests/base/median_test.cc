#include "base/median.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

TEST(Median, IsTheMiddleValueInWhateverOrder) {
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({4, 100, -3, 2, 3}), 3);
}

TEST(Median, OfAnEvenCountIsTheUpperOne) {
    EXPECT_EQ(median({2, 1}), 2);
    EXPECT_EQ(median({8, 2, 6, 4}), 6);
}

}  // namespace
}  // namespace rm
