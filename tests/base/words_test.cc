#include "base/words.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace rm {
namespace {

TEST(Counted, HasAnSBehindAllButOne) {
    EXPECT_EQ(counted(1, "rank"), "1 rank");
    EXPECT_EQ(counted(0, "rank"), "0 ranks");
    EXPECT_EQ(counted(std::size_t{2}, "text file"), "2 text files");
    EXPECT_EQ(counted(std::int64_t{1} << 32, "token"), "4294967296 tokens");
    EXPECT_EQ(plural(1, "document"), "document");
    EXPECT_EQ(plural(1'000, "document"), "documents");
}

TEST(EditDistance, CountsLettersToInsertRemoveReplaceOrSwap) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("ring", "ring"), 0u);
    EXPECT_EQ(edit_distance("", "ring"), 4u);
    EXPECT_EQ(edit_distance("ring", ""), 4u);
    EXPECT_EQ(edit_distance("contxt", "context"), 1u);
    EXPECT_EQ(edit_distance("contextt", "context"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("sitting", "kitten"), 3u);
    EXPECT_EQ(edit_distance("nmae", "name"), 1u);
    EXPECT_EQ(edit_distance("sumbit", "submit"), 1u);
    EXPECT_EQ(edit_distance("ab", "ba"), 1u);
}

TEST(EditDistance, FindsTheLikelyWordAndTheFirstOfEquals) {
    const std::array<std::string_view, 3> words = {"batch", "context", "tokens"};
    EXPECT_EQ(likely_word("contxt", words), "context");
    EXPECT_EQ(likely_word("token", words), "tokens");
    EXPECT_EQ(likely_word("batch", words), "batch");
    const std::array<std::string_view, 2> equals = {"cold", "cord"};
    EXPECT_EQ(likely_word("cobd", equals), "cold");
}

// Keys of other trainers once got poor suggestions: 'name' for `wandb`, 'batch' for `lr`.
TEST(EditDistance, SuggestsNothingWhenMoreThanAThirdOfTheWordDiffers) {
    const std::array<std::string_view, 4> words = {"name", "data", "batch", "model"};
    EXPECT_EQ(likely_word("wandb", words), std::nullopt);
    EXPECT_EQ(likely_word("lr", words), std::nullopt);
    EXPECT_EQ(likely_word("", words), std::nullopt);
    EXPECT_EQ(likely_word("nmae", words), "name");
}

}  // namespace
}  // namespace rm
