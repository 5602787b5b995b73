#include "cli/show/text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/screen/console.h"

namespace rm {
namespace {

TEST(CompactCount, KeepsThreeDigitsOrSo) {
    EXPECT_EQ(compact_count(0), "0");
    EXPECT_EQ(compact_count(950), "950");
    EXPECT_EQ(compact_count(999.7), "1.0k");
    EXPECT_EQ(compact_count(4321), "4.3k");
    EXPECT_EQ(compact_count(99'960), "100k");
    EXPECT_EQ(compact_count(318'000), "318k");
    EXPECT_EQ(compact_count(1.24e6), "1.2M");
}

TEST(ContextText, UsesPowersOf1024OnlyWhereExact) {
    EXPECT_EQ(context_text(8192), "8K");
    EXPECT_EQ(context_text(2 << 20), "2M");
    EXPECT_EQ(context_text(1000), "1000");
    EXPECT_EQ(context_text(0), "-");
}

TEST(RangesText, JoinsNeighbours) {
    EXPECT_EQ(ranges_text({}), "");
    EXPECT_EQ(ranges_text({3}), "3");
    EXPECT_EQ(ranges_text({0, 1, 2, 3, 8}), "0-3,8");
    EXPECT_EQ(ranges_text({0, 2, 4, 6, 7}), "0,2,4,6-7");
    EXPECT_EQ(ranges_text({0, 2, 4, 6, 8, 10}), "0,2,4,6,..10");
}

TEST(Grouped, SetsACommaEveryThreeDigits) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(819200), "819,200");
    EXPECT_EQ(grouped(100), "100");
    EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

TEST(EnergyText, IsInUnitsThatPeopleKnow) {
    EXPECT_EQ(energy_text(0), "");
    EXPECT_EQ(energy_text(820), "820 J");
    EXPECT_EQ(energy_text(41'300), "41.3 kJ");
    EXPECT_EQ(energy_text(4'500'000), "1.25 kWh");
}

TEST(SpanText, ShowsTheTwoLargestUnits) {
    EXPECT_EQ(span_text(Seconds{-3}), "0s");
    EXPECT_EQ(span_text(Seconds{59.4}), "59s");
    EXPECT_EQ(span_text(Seconds{192}), "3m12s");
    EXPECT_EQ(span_text(Seconds{7500}), "2h05m");
    EXPECT_EQ(span_text(Seconds{5 * 86400 + 3 * 3600.0}), "5d03h");
}

TEST(Wrapped, BreaksAtBlanksAndKeepsLongWords) {
    using Lines = std::vector<std::string>;
    EXPECT_EQ(wrapped("", 10), Lines{});
    EXPECT_EQ(wrapped("one two three", 0), Lines{"one two three"});
    EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
    EXPECT_EQ(wrapped("one two three", 6), (Lines{"one", "two", "three"}));
    EXPECT_EQ(wrapped("a /very/long/path b", 6), (Lines{"a", "/very/long/path", "b"}));
}

TEST(Console, AsksOnlyWhereSomebodyCanAnswer) {
    std::ostringstream err;
    std::istringstream yes("y\n");
    std::istringstream nothing;
    EXPECT_FALSE((Console{{err}, {err, true}, {nothing, true}}.confirm("Sure?")));
    EXPECT_EQ(err.str(), "Sure? [y/N] ");
    EXPECT_TRUE((Console{{err}, {err, true}, {yes, true}}.confirm("Sure?")));
    EXPECT_TRUE((Console{{err}, {err, false}, {nothing, true}}.confirm("Sure?")));
    EXPECT_TRUE((Console{{err}, {err, true}, {nothing, false}}.confirm("Sure?")));
    EXPECT_EQ(err.str(), "Sure? [y/N] Sure? [y/N] ");
}

TEST(ParseSince, TakesSpansBeforeNowAndDates) {
    const WallTime now{1'767'323'045'000'000};  // 2026-01-02T03:04:05Z
    EXPECT_EQ(to_iso8601(*parse_since("2h", now)), "2026-01-02T01:04:05Z");
    EXPECT_EQ(to_iso8601(*parse_since("1.5m", now)), "2026-01-02T03:02:35Z");
    EXPECT_EQ(to_iso8601(*parse_since("1d", now)), "2026-01-01T03:04:05Z");
    EXPECT_EQ(to_iso8601(*parse_since("2025-12-31", now)), "2025-12-31T00:00:00Z");
    EXPECT_EQ(to_iso8601(*parse_since("2025-12-31T10:20:30Z", now)), "2025-12-31T10:20:30Z");
}

TEST(ParseSince, NamesWhatWouldBeRight) {
    for (const char* bad : {"", "yesterday", "-2h", "2", "2w", "2026-13-01", "2026-01-02x"}) {
        const auto parsed = parse_since(bad, WallTime{});
        ASSERT_FALSE(parsed) << bad;
        EXPECT_NE(parsed.error().message.find(format("'{}'", bad)), std::string::npos);
        EXPECT_NE(parsed.error().message.find("2h"), std::string::npos);
    }
}

}  // namespace
}  // namespace rm
