#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/log.h"

namespace rm {
namespace {

MonoTime at(double seconds) {
    return {static_cast<std::int64_t>(seconds * 1e9)};
}

// Times at which an event that occurs every four seconds is logged.
std::vector<int> logged_until(RepeatedEvent& event, int end) {
    std::vector<int> logged;
    for (int second = 0; second < end; second += 4)
        if (event.came(LogLevel::warning, "revoked", at(second))) logged.push_back(second);
    return logged;
}

TEST(RepeatedEvent, IsLoggedAtOnceAndThenEverMoreRarely) {
    RepeatedEvent event("session_down");
    EXPECT_THAT(logged_until(event, 2000), testing::ElementsAre(0, 60, 180, 420, 900, 1860));
    RepeatedEvent of_a_day("session_down");
    EXPECT_LT(logged_until(of_a_day, 24 * 3600).size(), 32u) << "21,600 of them came";
}

TEST(RepeatedEvent, WithANewReasonIsLoggedAtOnce) {
    RepeatedEvent event("session_down");
    EXPECT_TRUE(event.came(LogLevel::info, "one", at(0)));
    EXPECT_FALSE(event.came(LogLevel::info, "one", at(1)));
    EXPECT_TRUE(event.came(LogLevel::info, "another", at(2)));
}

TEST(RepeatedEvent, AfterAllWasWellIsLoggedAtOnce) {
    RepeatedEvent event("session_down");
    EXPECT_TRUE(event.came(LogLevel::info, "one", at(0)));
    event.over();
    EXPECT_TRUE(event.came(LogLevel::info, "one", at(1)));
}

TEST(RepeatedEvent, SaysHowOftenItWasNotLogged) {
    RepeatedEvent event("session_down");
    event.came(LogLevel::warning, "one", at(0));
    for (int i = 1; i <= 7; ++i)
        event.came(LogLevel::warning, "one", at(i));
    testing::internal::CaptureStderr();
    init_logging("prog");  // an earlier test may have left another level
    event.came(LogLevel::warning, "one", at(60));
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::HasSubstr("session_down reason=one times_unlogged=7"));
}

}  // namespace
}  // namespace rm
