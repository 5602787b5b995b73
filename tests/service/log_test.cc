#include "service/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rm {
namespace {

// Must run first in this program: it tests the time before init_logging.
TEST(EarlyLog, GoesToStderrUnderTheProjectsName) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    log_event(LogLevel::info, "early");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    const std::string line = testing::internal::GetCapturedStderr();
    EXPECT_NE(line.find(" info ringmaster early\n"), std::string::npos) << line;
}

TEST(Log, AnEventIsAWordAndItsFields) {
    EXPECT_EQ(format_event("started", {}), "started");
    EXPECT_EQ(format_event("session_up", {{"node", "n1"}, {"epoch", 7}, {"seconds", 1.5}}),
              "session_up node=n1 epoch=7 seconds=1.5");
}

TEST(Log, ValuesCannotBreakTheLine) {
    EXPECT_EQ(format_event("e", {{"a", ""}, {"b", "x y"}, {"c", "k=v"}, {"d", "say \"\\\""}}),
              R"(e a="" b="x y" c="k=v" d="say \"\\\"")");
    EXPECT_EQ(format_event("e", {{"a", "one\ntwo\t\x01"}}), R"(e a="one\ntwo\x09\x01")");
    EXPECT_EQ(format_event("e", {{"a", "\xc3\xa9"}}), "e a=\xc3\xa9");
}

TEST(Log, ALineHasTimeLevelProgramAndEventOnStderr) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    init_logging("prog");
    log_event(LogLevel::warning, "disk_low", {{"free", 3}, {"text", "{} is no placeholder"}});
    log_event(LogLevel::debug, "not_shown");
    const std::string line = testing::internal::GetCapturedStderr();
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_THAT(line, testing::MatchesRegex(
                          "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z "
                          "warning prog disk_low free=3 text=\"\\{\\} is no placeholder\"\n"));
}

TEST(Log, TheLeastLevelIsChosenAtTheStart) {
    testing::internal::CaptureStderr();
    init_logging("prog", LogLevel::error);
    log_event(LogLevel::warning, "hidden");
    log_event(LogLevel::error, "shown");
    const std::string lines = testing::internal::GetCapturedStderr();
    EXPECT_EQ(lines.find("hidden"), std::string::npos);
    EXPECT_NE(lines.find(" error prog shown\n"), std::string::npos) << lines;
}

}  // namespace
}  // namespace rm
