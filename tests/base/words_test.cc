#include "base/words.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace rm
