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

TEST(Straggler, IsTheSlowestWhereItIsFarFromTheOthers) {
    const auto slow = find_straggler({1.0, 1.1, 1.5, 1.0});
    ASSERT_TRUE(slow);
    EXPECT_EQ(slow->rank, 2u);
    EXPECT_EQ(slow->seconds, 1.5);
    EXPECT_EQ(slow->others, 1.0);
}

TEST(Straggler, OfTwoIsTheOneThatTakesLonger) {
    const auto slow = find_straggler({1.0, 1.5});
    ASSERT_TRUE(slow);
    EXPECT_EQ(slow->rank, 1u);
}

TEST(Straggler, IsNobodyWhereAllTakeAboutTheSame) {
    EXPECT_FALSE(find_straggler({1.0, 1.1, 1.15}));
    EXPECT_FALSE(find_straggler({5.0})) << "nobody to compare with";
    EXPECT_FALSE(find_straggler({}));
}

}  // namespace
}  // namespace rm
