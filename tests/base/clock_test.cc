#include "base/clock.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

TEST(Clock, PrintsWallTimeAsIso8601Utc) {
    EXPECT_EQ(to_iso8601(WallTime{0}), "1970-01-01T00:00:00Z");
    EXPECT_EQ(to_iso8601(WallTime{1'767'323'045'999'999}), "2026-01-02T03:04:05Z");
}

TEST(ManualClock, MovesWhenToldAndOnlyThen) {
    ManualClock clock;
    const WallTime wall = clock.wall();
    const MonoTime mono = clock.mono();
    EXPECT_EQ(clock.wall(), wall);
    EXPECT_EQ(clock.mono(), mono);
    clock.advance(Seconds{1.5});
    EXPECT_EQ(clock.wall() - wall, Seconds{1.5});
    EXPECT_EQ(clock.mono() - mono, Seconds{1.5});
    EXPECT_EQ(clock.wall(), wall + Seconds{1.5});
}

TEST(SystemClock, IsMonotonicAndInThisCentury) {
    const SystemClock clock;
    const MonoTime before = clock.mono();
    EXPECT_GE(clock.mono(), before);
    EXPECT_GT(clock.wall(), WallTime{1'700'000'000'000'000});
}

TEST(UtcText, IsWhatThePatternSaysInWholeSeconds) {
    const WallTime time{1'767'323'045'999'999};
    EXPECT_EQ(utc_text(time, "%Y%m%d-%H%M%S"), "20260102-030405");
    EXPECT_EQ(utc_text(time, "%Y-%m-%dT%H:%M:%SZ"), "2026-01-02T03:04:05Z");
    EXPECT_EQ(utc_text(time, ""), "");
}

}  // namespace
}  // namespace rm
