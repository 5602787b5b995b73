#include "engine/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::HasSubstr;

std::string length_prefix(std::uint64_t length) {
    std::string bytes;
    for (int i = 0; i < 8; ++i)
        bytes.push_back(static_cast<char>(length >> (8 * i)));
    return bytes;
}

class SafetensorsTest : public testing::Test {
protected:
    Result<SafetensorsHeader> parse(const std::string& file) {
        write_text(dir_ / "x.safetensors", file);
        return read_safetensors_header(dir_ / "x.safetensors");
    }
    // A file with this header and `data_bytes` of data.
    std::string error_of(const std::string& header, std::size_t data_bytes) {
        const auto parsed =
            parse(length_prefix(header.size()) + header + std::string(data_bytes, 'd'));
        EXPECT_FALSE(parsed) << header;
        return parsed ? "" : parsed.error().message;
    }
    TempDir dir_;
};

const char kTwo[] = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"BF16","shape":[1,3],"data_offsets":[8,14]}})";

TEST_F(SafetensorsTest, ReadsWhatOthersWrite) {
    const std::string text = kTwo;
    const auto header = parse(length_prefix(text.size()) + text + std::string(14, 'd'));
    ASSERT_TRUE(header) << header.error().message;
    ASSERT_EQ(header->entries.size(), 2u);
    EXPECT_EQ(header->data_start, 8 + static_cast<std::int64_t>(text.size()));
    EXPECT_EQ(header->entries[1].name, "b");
    EXPECT_EQ(header->entries[1].dtype, DType::bf16);
    EXPECT_EQ(header->entries[1].shape, (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(header->entries[1].begin, 8);
}

TEST_F(SafetensorsTest, WritesTheStandardHeaderAligned) {
    const std::vector<SafetensorsEntry> entries = {{"a", DType::f64, {2}, 0, 16},
                                                   {"b", DType::i32, {}, 16, 20}};
    const std::string text = encode_safetensors_header(entries);
    EXPECT_EQ(text.size() % 8, 0u);
    EXPECT_EQ(text.substr(0, 8), length_prefix(text.size() - 8));
    EXPECT_THAT(text, HasSubstr(R"("a":{"data_offsets":[0,16],"dtype":"F64","shape":[2]})"));
    const auto header = parse(text + std::string(20, 'd'));
    ASSERT_TRUE(header) << header.error().message;
    ASSERT_EQ(header->entries.size(), 2u);
    EXPECT_EQ(header->entries[1].shape, std::vector<std::int64_t>{});
    EXPECT_EQ(header->entries[1].end, 20);
}

TEST_F(SafetensorsTest, BelievesNoLengthLargerThanTheFile) {
    for (const std::uint64_t length :
         {std::uint64_t{3}, std::uint64_t{99'999'999}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        const auto header = parse(length_prefix(length) + "{}");
        ASSERT_FALSE(header) << length;
        EXPECT_THAT(header.error().message,
                    HasSubstr(format("a header of {} bytes; at most 2 fit", length)));
    }
}

TEST_F(SafetensorsTest, RefusesFilesThatEndEarly) {
    EXPECT_THAT(parse("").error().message, HasSubstr("is 0 bytes, too short"));
    EXPECT_THAT(parse("1234567").error().message, HasSubstr("too short"));
    EXPECT_FALSE(parse(length_prefix(0)));
    EXPECT_THAT(read_safetensors_header(dir_ / "none").error().message,
                HasSubstr("No such file or directory"));
}

TEST_F(SafetensorsTest, RefusesHeadersThatDoNotDescribeTheData) {
    const auto entry = [](const std::string& dtype, const std::string& shape,
                          const std::string& offsets) {
        return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
               offsets + "}}";
    };
    EXPECT_THAT(error_of(kTwo, 13), HasSubstr("outside the 13 bytes"));
    EXPECT_THAT(error_of(kTwo, 15), HasSubstr("end at byte 14 of 15"));
    EXPECT_THAT(error_of("{", 0), HasSubstr("not JSON"));
    EXPECT_THAT(error_of("[]", 0), HasSubstr("not a JSON object"));
    EXPECT_THAT(error_of(R"({"a":1})", 0), HasSubstr("'dtype'"));
    EXPECT_THAT(error_of(entry("F8", "[2]", "[0,8]"), 8), HasSubstr("dtype 'F8'"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[4,12]"), 12), HasSubstr("begins at byte 4"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[8,0]"), 8), HasSubstr("outside"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[-8,0]"), 8), HasSubstr("outside"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[0]"), 8), HasSubstr("outside"));
    EXPECT_THAT(error_of(entry("F32", "[3]", "[0,8]"), 8), HasSubstr("another number"));
    EXPECT_THAT(error_of(entry("F32", "[-2]", "[0,8]"), 8), HasSubstr("another number"));
    EXPECT_THAT(error_of(entry("F32", "[4611686018427387904,4]", "[0,0]"), 0),
                HasSubstr("another number"));
    EXPECT_THAT(error_of(entry("F32", "[1e300]", "[0,8]"), 8), HasSubstr("'shape' is"));
    EXPECT_THAT(error_of(std::string(50'000, '['), 0), HasSubstr("not JSON"));
}

TEST_F(SafetensorsTest, RefusesOverlappingEntries) {
    EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                         12),
                HasSubstr("entry b begins at byte 4, the one before it ends at 8"));
}

}  // namespace
}  // namespace rm
