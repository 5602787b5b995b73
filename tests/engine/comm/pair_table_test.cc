#include "engine/comm/transport/pair_table.h"

#include <gmock/gmock.h>

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(PairTable, ComesBackAsItWasSent) {
    const PairTable table = {{0, std::string("a\0b", 3)}, {7, ""}, {300, std::string(200, '\xff')}};
    const auto decoded = decode_pair_table(encode_pair_table(table));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, table);
}

TEST(PairTable, OfARankWithoutPeersIsEmpty) {
    EXPECT_EQ(encode_pair_table({}), "");
    EXPECT_TRUE(decode_pair_table("")->empty());
}

TEST(PairTable, CutAnywhereIsAnError) {
    const std::string blob = encode_pair_table({{1, "address"}});
    for (std::size_t length = 1; length < blob.size(); ++length) {
        EXPECT_FALSE(decode_pair_table(blob.substr(0, length))) << length;
    }
    EXPECT_THAT(decode_pair_table(blob.substr(0, 10)).error().message,
                HasSubstr("peer 1 has an address of 7 bytes, 2 are left"));
}

}  // namespace
}  // namespace rm
