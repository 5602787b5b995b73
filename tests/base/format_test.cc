#include "base/format.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/ids.h"

namespace rm {
namespace {

TEST(Format, PutsArgumentsInPlace) {
    EXPECT_EQ(format("rank {} of {}", 3, 8), "rank 3 of 8");
    EXPECT_EQ(format("{} {} {}", "text", std::string("string"), std::string_view("view")),
              "text string view");
    EXPECT_EQ(format("{}{}", true, false), "truefalse");
    EXPECT_EQ(format("plain"), "plain");
    EXPECT_EQ(format(""), "");
}

TEST(Format, PrintsWhateverHasAnOstreamOperator) {
    EXPECT_EQ(format("{}", JobId{"abc123"}), "abc123");
    EXPECT_EQ(format("{:>8}|", JobId{"abc"}), "     abc|");
}

TEST(Format, PrintsSmallIntegersAsNumbers) {
    EXPECT_EQ(format("{} {}", std::uint8_t{65}, std::int8_t{-1}), "65 -1");
    EXPECT_EQ(format("{:02x}", std::uint8_t{10}), "0a");
}

TEST(Format, PadsNumbersLeftAndTextRight) {
    EXPECT_EQ(format("[{:5}]", 42), "[   42]");
    EXPECT_EQ(format("[{:5}]", "ab"), "[ab   ]");
    EXPECT_EQ(format("[{:<5}]", 42), "[42   ]");
    EXPECT_EQ(format("[{:>5}]", "ab"), "[   ab]");
    EXPECT_EQ(format("[{:2}]", "longer"), "[longer]");
}

TEST(Format, PutsPaddingZerosAfterTheSign) {
    EXPECT_EQ(format("{:05}", 42), "00042");
    EXPECT_EQ(format("{:05}", -42), "-0042");
    EXPECT_EQ(format("{:07.2}", -1.5), "-001.50");
}

TEST(Format, LimitsTheDigitsOfFloats) {
    EXPECT_EQ(format("{:.2}", 3.14159), "3.14");
    EXPECT_EQ(format("{:8.3}|", 2.0), "   2.000|");
    EXPECT_EQ(format("{:.0}", 2.6), "3");
    EXPECT_EQ(format("{}", 0.1), "0.1");
    EXPECT_EQ(format("{}", 1e-30), "1e-30");
}

TEST(Format, PrintsNoSignOfNan) {
    EXPECT_EQ(format("{} {}", std::nan(""), -std::nan("")), "nan nan");
    EXPECT_EQ(format("{:.4}", -std::nan("")), "nan");
    EXPECT_EQ(format("{} {:.1}", -HUGE_VAL, HUGE_VAL), "-inf inf");
}

TEST(Format, PrintsHugeFloatsInFull) {
    const std::string text = format("{:.1}", 1e100);
    EXPECT_EQ(text.size(), 101U + 2U);
    EXPECT_EQ(text.substr(text.size() - 2), ".0");
}

TEST(Format, PrintsHexadecimal) {
    EXPECT_EQ(format("{:x} {:08x}", 255, 0xabcd), "ff 0000abcd");
}

TEST(Format, TurnsDoubledBracesIntoOne) {
    EXPECT_EQ(format("{{}}"), "{}");
    EXPECT_EQ(format("{{{}}}", 1), "{1}");
}

TEST(Format, LeavesAPlaceholderWithoutArgumentAsItStands) {
    EXPECT_EQ(format("{} and {}", 1), "1 and {}");
    EXPECT_EQ(format("open {", 1), "open {");
    EXPECT_EQ(format("close }", 1), "close }");
}

}  // namespace
}  // namespace rm
