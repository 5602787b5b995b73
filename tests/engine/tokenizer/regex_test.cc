#include "engine/tokenizer/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tokenizer/utf8.h"

namespace rm {
namespace {

using testing::HasSubstr;

std::vector<std::string> matches(const Regex& regex, std::string_view text) {
    RegexMatcher matcher(regex);
    std::vector<std::string> found;
    std::size_t from = 0;
    while (const auto match = matcher.find(text, from).value()) {
        found.emplace_back(text.substr(match->begin, match->end - match->begin));
        from = match->end;
    }
    return found;
}

// Unicode's White_Space differs from PCRE2's own \s: U+180E is a format character since 6.3.
TEST(Regex, CountsAsSpaceJustWhatUnicodeDoes) {
    const Regex space = Regex::compile(R"(\s)").value();
    const Regex in_set = Regex::compile(R"([\s])").value();
    const Regex not_space = Regex::compile(R"(\S)").value();
    const Regex none_of = Regex::compile(R"([^\S])").value();
    for (char32_t c = 0; c < 0x3100; ++c) {
        std::string text;
        append_utf8(text, c);
        const std::size_t expected = is_white_space(c) ? 1 : 0;
        EXPECT_EQ(matches(space, text).size(), expected) << static_cast<int>(c);
        EXPECT_EQ(matches(in_set, text).size(), expected) << static_cast<int>(c);
        EXPECT_EQ(matches(none_of, text).size(), expected) << static_cast<int>(c);
        EXPECT_EQ(matches(not_space, text).size(), 1 - expected) << static_cast<int>(c);
    }
    EXPECT_TRUE(matches(space, "\xE1\xA0\x8E").empty());
}

TEST(Regex, ReadsEscapesOfCodePoints) {
    EXPECT_EQ(to_pcre2(R"(\u4e00-\\ \x{20AC})").value(), R"(\x{4e00}-\\ \x{20AC})");
    EXPECT_EQ(matches(Regex::compile(R"([\u4e00-\u9fa5]+)").value(), "a\xE6\x97\xA5z"),
              std::vector<std::string>{"\xE6\x97\xA5"});
}

TEST(Regex, RefusesByNameWhatTheTwoEnginesReadDifferently) {
    for (const auto& [pattern, name] : std::initializer_list<std::pair<const char*, const char*>>{
             {R"(a\w)", R"(\w at byte 1)"},
             {R"(\bx)", R"(\b at byte 0)"},
             {R"(\h+)", R"(\h)"},
             {R"(\x41)", R"(\x without {})"},
             {R"(\u12)", R"(\u without four)"},
             {"^a", "^ at byte 0"},
             {"a$", "$ at byte 1"},
             {"[a[bc]]", "a set inside a set at byte 2"},
             {"[a&&b]", "&&"},
             {"a{,3}", "{,3}"},
             {"a{1,3}+", "{1,3}+"},
             {"(?<name>a)", "(?<n"},
             {"(?m:a)", "(?m:"},
             {"[ab", "a [ without ]"}}) {
        const auto translated = to_pcre2(pattern);
        ASSERT_FALSE(translated) << pattern;
        EXPECT_EQ(translated.error().code, ErrorCode::unimplemented);
        EXPECT_THAT(translated.error().message, HasSubstr(name));
    }
}

TEST(Regex, RefusesWhatIsNoExpressionOrMatchesNothing) {
    EXPECT_THAT(Regex::compile("(a").error().message, HasSubstr("is not a regular expression"));
    EXPECT_THAT(Regex::compile(R"(\p{Klingonese})").error().message, HasSubstr("property"));
    EXPECT_THAT(Regex::compile("a*").error().message, HasSubstr("matches the empty text"));
    EXPECT_THAT(Regex::compile(std::string(20000, 'a')).error().message, HasSubstr("at most"));
}

TEST(Regex, EndsAHopelessSearchWithAnError) {
    const Regex regex = Regex::compile("(a+)+b").value();
    RegexMatcher matcher(regex);
    const auto found = matcher.find(std::string(64, 'a'), 0);
    // PCRE2 may also notice at once that there is no b.
    if (!found) {
        EXPECT_EQ(found.error().code, ErrorCode::resource_exhausted);
    } else {
        EXPECT_FALSE(*found);
    }
}

}  // namespace
}  // namespace rm
