#include "base/utc_text.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

TEST(UtcText, IsWhatThePatternSaysInWholeSeconds) {
    const WallTime time{1'767'323'045'999'999};
    EXPECT_EQ(utc_text(time, "%Y%m%d-%H%M%S"), "20260102-030405");
    EXPECT_EQ(utc_text(time, "%Y-%m-%dT%H:%M:%SZ"), "2026-01-02T03:04:05Z");
    EXPECT_EQ(utc_text(time, ""), "");
}

}  // namespace
}  // namespace rm
