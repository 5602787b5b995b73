#include "cli/screen/screen.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

TEST(CutToWidth, CountsCharactersAndNotEscapes) {
    EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
    EXPECT_EQ(cut_to_width("abcdef", 4), "abcd");
    EXPECT_EQ(cut_to_width("\x1b[31mabc\x1b[0m", 3), "\x1b[31mabc\x1b[0m");
    EXPECT_EQ(cut_to_width("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4\xc3\xb6");
}

TEST(CutToWidth, LeavesNoColorOn) {
    EXPECT_EQ(cut_to_width("\x1b[31mabcdef", 3), "\x1b[31mabc\x1b[0m");
}

}  // namespace
}  // namespace rm
