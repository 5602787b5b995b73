#include "engine/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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
    // Returns the error for a file with this header and `data_bytes` of data.
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
    EXPECT_EQ(header->entries[1].type, StorageType::bf16);
    EXPECT_EQ(header->entries[1].shape, (std::vector<std::int64_t>{1, 3}));
    EXPECT_EQ(header->entries[1].begin, 8);
}

TEST_F(SafetensorsTest, WritesTheStandardHeaderAligned) {
    const std::vector<SafetensorsEntry> entries = {{"a", StorageType::f64, {2}, 0, 16},
                                                   {"b", StorageType::i32, {}, 16, 20}};
    const std::string text = encode_safetensors_header(entries, {{"format", "pt"}});
    EXPECT_EQ(text.size() % 8, 0u);
    EXPECT_EQ(text.substr(0, 8), length_prefix(text.size() - 8));
    EXPECT_THAT(text, HasSubstr(R"("a":{"data_offsets":[0,16],"dtype":"F64","shape":[2]})"));
    const auto header = parse(text + std::string(20, 'd'));
    ASSERT_TRUE(header) << header.error().message;
    ASSERT_EQ(header->entries.size(), 2u);
    EXPECT_EQ(header->entries[1].shape, std::vector<std::int64_t>{});
    EXPECT_EQ(header->entries[1].end, 20);
    EXPECT_EQ(header->metadata, (SafetensorsMetadata{{"format", "pt"}}));
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

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
}

TEST_F(SafetensorsTest, RefusesHeadersThatDoNotDescribeTheData) {
    EXPECT_THAT(error_of(kTwo, 13),
                HasSubstr("'b': data_offsets [8, 14] lie outside the 13 bytes of data"));
    EXPECT_THAT(error_of(kTwo, 15), HasSubstr("end at byte 14 of 15"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[4,12]"), 12), HasSubstr("'a' begins at byte 4"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[8,0]"), 8), HasSubstr("[8, 0] lie outside"));
    EXPECT_THAT(error_of(entry("F32", "[3]", "[0,8]"), 8),
                HasSubstr("'a': F32 [3] takes 12 bytes, its data_offsets [0, 8] hold 8"));
    EXPECT_THAT(error_of(entry("F32", "[4611686018427387904,4]", "[0,0]"), 0),
                HasSubstr("takes 2^63 bytes or more"));
    EXPECT_THAT(error_of(entry("F64", "[9223372036854775807,9223372036854775807]", "[0,8]"), 8),
                HasSubstr("takes 2^63 bytes or more"));
}

TEST_F(SafetensorsTest, AShapeWithAZeroHoldsNothingHoweverLargeTheRest) {
    const std::string text = entry("F32", "[9223372036854775807,9223372036854775807,0]", "[0,0]");
    EXPECT_TRUE(parse(length_prefix(text.size()) + text));
}

TEST_F(SafetensorsTest, RefusesWhatIsNotAHeader) {
    EXPECT_THAT(error_of("{", 0), HasSubstr("not JSON: wrong at byte"));
    EXPECT_THAT(error_of("[]", 0), HasSubstr("not a JSON object"));
    EXPECT_THAT(error_of(" {}", 0), HasSubstr("does not begin with '{'"));
    EXPECT_THAT(error_of("{} {}", 0), HasSubstr("not JSON"));
    EXPECT_THAT(error_of(std::string("{}\0", 3), 0), HasSubstr("not JSON"));
    EXPECT_THAT(error_of("{\"\xff\":1}", 0), HasSubstr("not JSON"));
    EXPECT_THAT(error_of(std::string(50'000, '['), 0), HasSubstr("does not begin"));
    EXPECT_THAT(error_of(R"({"a":)" + std::string(50'000, '['), 0), HasSubstr("'a' is a list"));
    EXPECT_THAT(error_of(R"({"a":1})", 0), HasSubstr("'a' is 1, not an object"));
    EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[0]}})", 0),
                HasSubstr("'a': 'data_offsets' is missing"));
    EXPECT_THAT(error_of(R"({"a":{"dtyp":"F32"}})", 0), HasSubstr("field 'dtyp' is not known"));
    EXPECT_THAT(error_of(R"({"a":{"dtype":4}})", 0), HasSubstr("dtype is 4, not a string"));
}

TEST_F(SafetensorsTest, RefusesValuesOfTheWrongKindByTensorAndValue) {
    EXPECT_THAT(error_of(entry("F8_E4M3", "[2]", "[0,8]"), 8),
                HasSubstr("'a': dtype 'F8_E4M3' is not one of F64, F32, F16, BF16, I32"));
    EXPECT_THAT(error_of(entry("F32", "[-2]", "[0,8]"), 8), HasSubstr("'a': shape holds -2"));
    EXPECT_THAT(error_of(entry("F32", "[2.0]", "[0,8]"), 8), HasSubstr("shape holds 2.0"));
    EXPECT_THAT(error_of(entry("F32", "[1e300]", "[0,8]"), 8), HasSubstr("shape holds 1e300"));
    EXPECT_THAT(error_of(entry("F32", "[18446744073709551615]", "[0,8]"), 8),
                HasSubstr("shape holds 18446744073709551615"));
    EXPECT_THAT(error_of(entry("F32", "2", "[0,8]"), 8), HasSubstr("shape is 2, not a list"));
    EXPECT_THAT(error_of(entry("F32", "[[2]]", "[0,8]"), 8), HasSubstr("shape holds a list"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[-8,0]"), 8), HasSubstr("data_offsets holds -8"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[0]"), 8), HasSubstr("data_offsets are 1 numbers"));
    EXPECT_THAT(error_of(entry("F32", "[2]", "[0,8,8]"), 8), HasSubstr("are 3 numbers"));
    EXPECT_THAT(error_of(R"({"__metadata__":{"a":1}})", 0),
                HasSubstr("__metadata__ 'a' is 1, not a string"));
    EXPECT_THAT(error_of(R"({"__metadata__":"x"})", 0),
                HasSubstr("'__metadata__' is 'x', not an object"));
}

TEST_F(SafetensorsTest, RefusesKeysThatAreThereTwice) {
    const std::string a = R"("a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    EXPECT_THAT(error_of("{" + a + "," + a + "}", 0), HasSubstr("holds 'a' twice"));
    EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0),
                HasSubstr("'a': holds 'dtype' twice"));
    EXPECT_THAT(error_of(R"({"__metadata__":{"x":"1","x":"2"}})", 0),
                HasSubstr("__metadata__ holds 'x' twice"));
    EXPECT_THAT(error_of(R"({"__metadata__":{},"__metadata__":{}})", 0),
                HasSubstr("'__metadata__' twice"));
}

TEST_F(SafetensorsTest, ReadsRangesOfATensorAndSaysWhereAFileEndsEarly) {
    const std::string text = kTwo;
    const std::string path = dir_ / "x.safetensors";
    write_text(path, length_prefix(text.size()) + text + "01234567abcdef");
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->find("c"), nullptr);
    const SafetensorsEntry* b = file->find("b");
    ASSERT_NE(b, nullptr);
    std::string bytes(3, ' ');
    ASSERT_TRUE(file->read(*b, 2, std::as_writable_bytes(std::span(bytes))));
    EXPECT_EQ(bytes, "cde");
    std::filesystem::resize_file(path, 8 + text.size() + 11);
    const Status cut = file->read(*b, 2, std::as_writable_bytes(std::span(bytes)));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::data_loss);
    EXPECT_THAT(cut.error().message, HasSubstr(path + " ends at byte"));
}

TEST_F(SafetensorsTest, ErrorsOfAnOpenedFileNameIt) {
    const std::string path = dir_ / "x.safetensors";
    write_text(path, length_prefix(1) + "[");
    EXPECT_THAT(SafetensorsFile::open(path).error().message, HasSubstr(path + ": the header"));
    EXPECT_THAT(SafetensorsFile::open(dir_.path()).error().message,
                HasSubstr("is not a regular file"));
}

TEST_F(SafetensorsTest, RefusesOverlappingEntries) {
    EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                         12),
                HasSubstr("tensor 'b' begins at byte 4, the one before it ends at 8"));
}

}  // namespace
}  // namespace rm
