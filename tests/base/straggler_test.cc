#include "base/straggler.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

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
