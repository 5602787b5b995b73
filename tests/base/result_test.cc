#include "base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/refusals.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

Result<int> half(int number) {
    if (number % 2 != 0) return invalid_argument("{} is odd; give an even number", number);
    return number / 2;
}

Result<int> quarter(int number) {
    RM_TRY(const int once, half(number));
    RM_TRY(const int twice, half(once));
    return twice;
}

Status check_quarter(int number) {
    RM_RETURN_IF_ERROR(Status{});
    RM_TRY(const int unused, quarter(number));
    return unused >= 0 ? Status{} : Status{invalid_argument("negative")};
}

TEST(Result, HoldsAValueOrAnError) {
    const Result<int> good = half(6);
    ASSERT_TRUE(good);
    EXPECT_EQ(*good, 3);
    const Result<int> bad = half(7);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(bad.error().message, "7 is odd; give an even number");
}

TEST(Result, PropagatesTheFirstErrorThroughTry) {
    EXPECT_EQ(quarter(8).value(), 2);
    EXPECT_EQ(quarter(6).error().message, "3 is odd; give an even number");
    EXPECT_TRUE(check_quarter(8).ok());
    EXPECT_FALSE(check_quarter(6).ok());
}

TEST(Result, MovesValuesThatCannotBeCopied) {
    const auto make = [](int value) -> Result<std::unique_ptr<int>> {
        return std::make_unique<int>(value);
    };
    const auto use = [&]() -> Result<int> {
        RM_TRY(const std::unique_ptr<int> number, make(5));
        return *number;
    };
    EXPECT_EQ(use().value(), 5);
}

TEST(Result, ValueOfAFailureThrowsWithItsMessage) {
    EXPECT_THAT(test::check_error_of([] { half(7).value(); }), HasSubstr("7 is odd"));
}

TEST(Result, NamesEveryCode) {
    for (int code = 1; code <= 16; ++code) {
        const std::string_view name = to_string(static_cast<ErrorCode>(code));
        EXPECT_FALSE(name.empty());
        EXPECT_EQ(name == "unknown", code == 2) << code;
    }
}

TEST(Check, ThrowsTheMessageWithPlaceAndCondition) {
    const int ranks = 3;
    const std::string message = test::check_error_of(
        [&] { RM_CHECK(ranks == 4, "mesh has {} ranks, the job has {}", 4, ranks); });
    EXPECT_THAT(message, HasSubstr("mesh has 4 ranks, the job has 3 (result_test.cc:"));
    EXPECT_THAT(message, HasSubstr("ranks == 4"));
}

TEST(Check, IsSilentWhenTheConditionHolds) {
    EXPECT_NO_THROW(RM_CHECK(1 + 1 == 2, "arithmetic"));
}

}  // namespace
}  // namespace rm
