#include "engine/data/data_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/tokenizer/tokenizer.h"
#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void write_llmc(const std::string& path) {
    std::string file(1024 + 2, '\0');
    const std::int32_t head[] = {20240520, 1, 1};
    std::memcpy(file.data(), head, sizeof head);
    write_text(path, file);
}

DataFormat found(const std::string& path) {
    const auto data = find_data(path, "auto");
    EXPECT_TRUE(data) << data.error().message;
    return data->format;
}

TEST(FindData, KnowsEachFormatByItsFiles) {
    TempDir dir;
    write_text(dir / "text/a.txt", "hello");
    write_text(dir / "lines/a.jsonl", "{\"text\": \"a\"}\n");
    write_text(dir / "lines/deep/b.ndjson", "{\"text\": \"b\"}\n");
    std::filesystem::create_directories(dir / "tokens");
    write_megatron(dir / "tokens/set", {1, 2, 3});
    write_llmc(dir / "llmc/train_000.bin");

    EXPECT_EQ(found(dir / "text"), DataFormat::text);
    EXPECT_EQ(found(dir / "text/a.txt"), DataFormat::text);
    EXPECT_EQ(found(dir / "lines"), DataFormat::jsonl);
    EXPECT_EQ(found(dir / "lines/a.jsonl"), DataFormat::jsonl);
    for (const char* path : {"tokens", "tokens/set", "tokens/set.bin", "tokens/set.idx"})
        EXPECT_EQ(found(dir / path), DataFormat::megatron) << path;
    EXPECT_EQ(found(dir / "llmc"), DataFormat::llmc);
    EXPECT_EQ(found(dir / "llmc/train_000.bin"), DataFormat::llmc);
    EXPECT_THAT(find_data(dir / "lines", "auto")->files,
                ElementsAre(dir / "lines/a.jsonl", dir / "lines/deep/b.ndjson"));
    EXPECT_THAT(find_data(dir / "tokens/set.bin", "auto")->files, ElementsAre(dir / "tokens/set"));
}

TEST(FindData, TakesAMixtureForTextUnlessToldOtherwise) {
    TempDir dir;
    write_text(dir / "a.txt", "hello");
    write_text(dir / "b.jsonl", "{\"text\": \"b\"}\n");
    EXPECT_EQ(found(dir.path()), DataFormat::text);
    const auto lines = find_data(dir.path(), "jsonl");
    ASSERT_TRUE(lines);
    EXPECT_THAT(lines->files, ElementsAre(dir / "b.jsonl"));
}

TEST(FindData, SaysWhatItLookedFor) {
    TempDir dir;
    write_text(dir / "a.txt", "hello");
    EXPECT_EQ(find_data(dir / "none", "auto").error().code, ErrorCode::not_found);
    EXPECT_THAT(find_data(dir / "none", "auto").error().message, HasSubstr(dir / "none"));
    EXPECT_THAT(find_data(dir.path(), "jsonl").error().message,
                HasSubstr("no jsonl data: looked for files named .jsonl"));
    EXPECT_THAT(find_data(dir.path(), "megatron").error().message, HasSubstr("PREFIX.idx"));
    EXPECT_THAT(find_data(dir.path(), "llmc").error().message, HasSubstr("20240520"));
    EXPECT_THAT(find_data(dir.path(), "parquet").error().message,
                HasSubstr("format 'parquet' is not known"));
}

TEST(OpenTokens, RefusesATokenizerLargerThanTheModel) {
    TempDir dir;
    write_text(dir / "a.txt", "hello");
    const auto data = find_data(dir.path(), "auto").value();
    EXPECT_TRUE(open_tokens(data, ByteTokenizer(), 257));
    const auto source = open_tokens(data, ByteTokenizer(), 256);
    ASSERT_FALSE(source);
    EXPECT_THAT(source.error().message, HasSubstr("tokenizer bytes has ids up to 256"));
    EXPECT_THAT(source.error().message, HasSubstr("at least 257"));
}

TEST(OpenText, HasNoneOfFilesOfTokens) {
    TempDir dir;
    write_llmc(dir / "a.bin");
    EXPECT_THAT(open_text(find_data(dir.path(), "auto").value()).error().message,
                HasSubstr("holds tokens and no text"));
}

}  // namespace
}  // namespace rm
