#include "engine/tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

constexpr const char* kMark = "\xEF\xBF\xBD";

TEST(Utf8, LeavesWellFormedTextAlone) {
    for (const std::string& text :
         {std::string(), std::string("plain ascii text"), std::string("\0", 1),
          std::string("\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F"
                      "\xBF\xBF")}) {
        EXPECT_EQ(find_invalid_utf8(text), text.size());
        EXPECT_EQ(replace_invalid_utf8(text), text);
    }
}

// The examples of the Unicode Standard, section 3.9, "U+FFFD substitution of maximal subparts".
TEST(Utf8, ReplacesEachMaximalSubpartOnce) {
    const std::string m = kMark;
    EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
              m + m + m + m + m + m + m + m + "A");
    EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
              m + m + m + m + m + m + m + m + "A");
    EXPECT_EQ(replace_invalid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
              m + m + m + m + m + "A" + m + m + "B");
    EXPECT_EQ(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), m + m + m + m + "A");
}

TEST(Utf8, FindsTheFirstBadByteBehindLongAscii) {
    EXPECT_EQ(find_invalid_utf8(std::string(21, 'a') + "\xFF" + "b"), 21u);
    EXPECT_EQ(find_invalid_utf8(std::string(8, 'a') + "\xE2\x82"), 8u);
}

TEST(Utf8, ReadsForwardWhatItWrites) {
    for (char32_t c = 0; c < 0x110000; c += c < 0x900 ? 1 : 251) {
        if (c >= 0xD800 && c < 0xE000) continue;
        std::string text;
        append_utf8(text, c);
        EXPECT_EQ(find_invalid_utf8(text), text.size()) << static_cast<int>(c);
        EXPECT_EQ(code_point_at(text, 0).value, c);
        EXPECT_EQ(code_point_before("x" + text, text.size() + 1).value, c);
        EXPECT_EQ(code_point_at(text, 0).bytes, text.size());
    }
}

}  // namespace
}  // namespace rm
