#include "service/edit_distance.h"

#include <gtest/gtest.h>

#include <array>

namespace rm {
namespace {

TEST(EditDistance, CountsLettersToInsertRemoveOrReplace) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("ring", "ring"), 0u);
    EXPECT_EQ(edit_distance("", "ring"), 4u);
    EXPECT_EQ(edit_distance("ring", ""), 4u);
    EXPECT_EQ(edit_distance("contxt", "context"), 1u);
    EXPECT_EQ(edit_distance("contextt", "context"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("sitting", "kitten"), 3u);
}

TEST(EditDistance, FindsTheNearestWordAndTheFirstOfEquals) {
    const std::array<std::string_view, 3> words = {"batch", "context", "tokens"};
    EXPECT_EQ(nearest_word("contxt", words), "context");
    EXPECT_EQ(nearest_word("token", words), "tokens");
    EXPECT_EQ(nearest_word("xxxxx", words), "batch");
}

}  // namespace
}  // namespace rm
