#include "engine/data/text/jsonl_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<JsonlText> open(const TempDir& dir, std::string_view text) {
    write_text(dir / "a.jsonl", text);
    auto source = JsonlText::open(dir.path(), {dir / "a.jsonl"});
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
}

std::vector<std::string> texts_of(const TextSource& source) {
    std::vector<std::string> texts;
    const auto reader = source.make_reader();
    for (std::int64_t i = 0; i < source.num_documents(); ++i)
        texts.push_back(reader->load(i).value());
    return texts;
}

TEST(JsonlText, IsADocumentPerLine) {
    TempDir dir;
    const auto source = open(dir,
                             "{\"text\": \"one\"}\r\n\n   \n"
                             "{\"id\": 7, \"text\": \"two\\nlines \\u00e9\"}\n{\"text\": \"\"}");
    EXPECT_THAT(texts_of(*source), ElementsAre("one", "two\nlines \xC3\xA9", ""));
    EXPECT_EQ(source->document_name(1), (dir / "a.jsonl") + ":4");
}

TEST(JsonlText, FindsLinesOfEveryLengthAcrossBlocks) {
    TempDir dir;
    Rng rng(8);
    std::vector<std::string> expected;
    std::string file;
    while (file.size() < 5'000'000) {
        const std::uint64_t size = rng.below(4) == 0 ? rng.below(2'000'000) : rng.below(50);
        expected.emplace_back(size, static_cast<char>('a' + rng.below(26)));
        file += nlohmann::json{{"text", expected.back()}}.dump() + "\n";
        if (rng.below(3) == 0) file += "\n";
    }
    EXPECT_EQ(texts_of(*open(dir, file)), expected) << "seed 8";
}

TEST(JsonlText, NamesFileAndLineOfABadOne) {
    const auto complaint = [](std::string_view line) {
        TempDir dir;
        const auto source = open(dir, "{\"text\": \"good\"}\n\n" + std::string(line) + "\n");
        const auto text = source->make_reader()->load(1);
        EXPECT_FALSE(text);
        return text ? "" : text.error().message;
    };
    EXPECT_THAT(complaint("{\"text\": "),
                HasSubstr("a.jsonl:3: not JSON: byte 10: unexpected end of input"));
    EXPECT_THAT(complaint("{\"text\": "), HasSubstr("; each line is an object"));
    EXPECT_THAT(complaint("[1]"), HasSubstr("a.jsonl:3: array, not an object"));
    EXPECT_THAT(complaint("{\"body\": \"x\"}"), HasSubstr(":3: no \"text\""));
    EXPECT_THAT(complaint("{\"text\": 5}"), HasSubstr(":3: \"text\" is number, not a string"));
    EXPECT_THAT(complaint("{\"text\": \"\xFF\"}"), HasSubstr(":3: not JSON"));
}

TEST(JsonlText, RefusesAFileWithoutLines) {
    TempDir dir;
    write_text(dir / "a.jsonl", "\n \n");
    EXPECT_THAT(JsonlText::open(dir.path(), {dir / "a.jsonl"}).error().message,
                HasSubstr("holds no line of JSON"));
}

TEST(JsonlText, GivesItsBytesAsTokens) {
    TempDir dir;
    const auto source = ByteSource::open(open(dir, "{\"text\": \"abc\"}\n{\"text\": \"\"}\n"));
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->num_tokens(0), 3);
    EXPECT_EQ((*source)->num_tokens(1), 0);
    std::vector<TokenId> tokens(2);
    ASSERT_TRUE((*source)->make_reader()->read(0, 1, tokens));
    EXPECT_THAT(tokens, ElementsAre('b', 'c'));
}

}  // namespace
}  // namespace rm
