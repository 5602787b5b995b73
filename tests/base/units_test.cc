#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(Units, PrintBytesInBinaryMultiples) {
    EXPECT_EQ(to_string(Bytes{0}), "0 B");
    EXPECT_EQ(to_string(Bytes{1023}), "1023 B");
    EXPECT_EQ(to_string(Bytes{1536}), "1.5 KiB");
    EXPECT_EQ(to_string(Bytes{3LL << 30}), "3.0 GiB");
    EXPECT_EQ(format("{}", Bytes{2048}), "2.0 KiB");
}

TEST(Units, PrintSecondsForPeople) {
    EXPECT_EQ(to_string(Seconds{42e-6}), "42 us");
    EXPECT_EQ(to_string(Seconds{0.412}), "412 ms");
    EXPECT_EQ(to_string(Seconds{3.21}), "3.2 s");
    EXPECT_EQ(to_string(Seconds{312}), "5m12s");
    EXPECT_EQ(to_string(Seconds{3 * 3600 + 4 * 60 + 59}), "3h04m");
}

TEST(Units, AddAndScale) {
    Bytes total{1};
    total += Bytes{2};
    EXPECT_EQ(total + Bytes{4} * 2, Bytes{11});
    EXPECT_LT(Seconds{1}, Seconds{2} - Seconds{0.5});
}

TEST(ParseCount, ReadsPlainAndSuffixedNumbers) {
    EXPECT_EQ(parse_count("8192", Suffix::binary).value(), 8192);
    EXPECT_EQ(parse_count("64K", Suffix::binary).value(), 65536);
    EXPECT_EQ(parse_count("64k", Suffix::binary).value(), 65536);
    EXPECT_EQ(parse_count("2M", Suffix::binary).value(), 2 << 20);
    EXPECT_EQ(parse_count("1.5K", Suffix::binary).value(), 1536);
    EXPECT_EQ(parse_count("0", Suffix::binary).value(), 0);
}

TEST(ParseCount, CountsBudgetsInPowersOfTen) {
    EXPECT_EQ(parse_count("64K", Suffix::decimal).value(), 64'000);
    EXPECT_EQ(parse_count("1.5B", Suffix::decimal).value(), 1'500'000'000);
}

TEST(ParseCount, RefusesWhatIsNotAWholeNumberOfTokens) {
    for (const char* text : {"", "K", "abc", "-1", "12KB", "1.5", " 8", "8 ", "inf", "nan", "1e300",
                             "0x10", "8,192", "64 K"}) {
        const auto parsed = parse_count(text, Suffix::binary);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
        EXPECT_THAT(parsed.error().message, HasSubstr(format("'{}'", text)));
    }
    EXPECT_FALSE(parse_count("1B", Suffix::binary)) << "B could be mistaken for bytes";
}

TEST(ParseBytes, ReadsEveryUnit) {
    EXPECT_EQ(parse_bytes("40GiB").value(), Bytes{std::int64_t{40} << 30});
    EXPECT_EQ(parse_bytes("512MiB").value(), Bytes{512 << 20});
    EXPECT_EQ(parse_bytes("1.5KiB").value(), Bytes{1536});
    EXPECT_EQ(parse_bytes("2TiB").value(), Bytes{std::int64_t{2} << 40});
    EXPECT_EQ(parse_bytes("1000B").value(), Bytes{1000});
    EXPECT_EQ(parse_bytes("0B").value(), Bytes{0});
}

TEST(ParseBytes, RefusesWhatIsNoSizeAndSaysWhatIs) {
    for (const char* text : {"", "40", "GiB", "40GB", "40 GiB", "40gib", "-1GiB", "0.3B", "infTiB",
                             "nanB", "1e9TiB", "2097152TiB", "0x1KiB", "40GiBs"}) {
        const auto parsed = parse_bytes(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_EQ(parsed.error().message,
                  format("'{}' is not a size; write a number with B, KiB, MiB, GiB or TiB, such as "
                         "40GiB",
                         text));
    }
}

TEST(ParseBytes, ExactTextComesBackAsItWas) {
    EXPECT_EQ(exact_text(Bytes{std::int64_t{40} << 30}), "40GiB");
    EXPECT_EQ(exact_text(Bytes{1536 << 20}), "1536MiB");
    EXPECT_EQ(exact_text(Bytes{1000}), "1000B");
    EXPECT_EQ(exact_text(Bytes{0}), "0B");
    for (const std::int64_t value :
         {std::int64_t{1}, std::int64_t{3} << 40, (std::int64_t{1} << 53) + 1,
          (std::int64_t{1} << 60) - 1, std::int64_t{1} << 60}) {
        EXPECT_EQ(parse_bytes(exact_text({value})).value(), Bytes{value});
    }
}

}  // namespace
}  // namespace rm
