#include "engine/data/file/hash.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

TEST(Xxh3, IsTheStandardHash) {
    EXPECT_EQ(xxh3_hex(""), "99aa06d3014798d86001c324468d497f");  // xxhash's own sanity value
}

TEST(Xxh3, DoesNotDependOnHowTheBytesArrive) {
    const std::string text(1000, 'x');
    Xxh3 pieces;
    pieces.update(text.substr(0, 1));
    pieces.update(text.substr(1, 600));
    pieces.update(text.substr(601));
    EXPECT_EQ(pieces.hex(), xxh3_hex(text));
}

TEST(Xxh3, TakesIntegersAsLittleEndianBytes) {
    Xxh3 hash;
    hash.update(std::int64_t{0x0807060504030201});
    EXPECT_EQ(hash.hex(), xxh3_hex("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

}  // namespace
}  // namespace rm
