#include "engine/data/tokens/token_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/random.h"
#include "engine/data/tokens/megatron_writer.h"
#include "engine/data/tokens/token_formats.h"
#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string raw(std::initializer_list<T> values) {
    std::string bytes;
    for (const T value : values)
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return bytes;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

// Two documents as Megatron writes them: two sequences (3 + 1 tokens), then one (2 tokens).
struct IndexFile {
    std::uint64_t version = 1;
    std::uint8_t code = 8;
    std::uint64_t num_sequences = 3;
    std::uint64_t num_bounds = 3;
    std::vector<std::int32_t> sizes{3, 1, 2};
    std::vector<std::int64_t> pointers{0, 6, 8};
    std::vector<std::int64_t> bounds{0, 2, 3};

    std::string bytes() const {
        std::string text("MMIDIDX\0\0", 9);
        text += raw({version}) + raw({code}) + raw({num_sequences}) + raw({num_bounds});
        for (const auto size : sizes)
            text += raw({size});
        for (const auto pointer : pointers)
            text += raw({pointer});
        for (const auto bound : bounds)
            text += raw({bound});
        return text;
    }
};

TEST(MegatronIndex, ReadsDocumentsOfSeveralSequences) {
    const auto index = parse_megatron_index(bytes_of(IndexFile().bytes()));
    ASSERT_TRUE(index) << index.error().message;
    EXPECT_EQ(index->dtype, TokenDType::u16);
    EXPECT_THAT(index->begins, ElementsAre(0, 4, 6));
}

TEST(MegatronIndex, IsWrittenByteForByteAsMegatronDoes) {
    IndexFile file;
    file.code = 4;
    file.num_sequences = 2;
    file.sizes = {4, 2};
    file.pointers = {0, 16};
    file.bounds = {0, 1, 2};
    const std::vector<std::int64_t> tokens = {4, 2};
    const auto bytes = encode_megatron_index(TokenDType::i32, tokens);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), file.bytes());
}

TEST(MegatronIndex, SaysWhatContradictsWhat) {
    const auto complaint = [](const auto& change) {
        IndexFile file;
        change(file);
        const auto index = parse_megatron_index(bytes_of(file.bytes()));
        EXPECT_FALSE(index);
        return index ? "" : index.error().message;
    };
    EXPECT_THAT(complaint([](IndexFile& f) { f.version = 2; }), HasSubstr("version 2; 1 is read"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.code = 6; }), HasSubstr("as type 6; whole numbers"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.code = 0; }), HasSubstr("as type 0"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.num_sequences = 4; }), HasSubstr("60 bytes behind"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.num_sequences = ~std::uint64_t{0}; }),
                HasSubstr("18446744073709551615 sequences"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.num_bounds = std::uint64_t{1} << 61; }),
                HasSubstr("document bounds need"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.sizes[1] = -1; }),
                HasSubstr("sequence 1 has -1 tokens"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.pointers[2] = 10; }),
                HasSubstr("sequence 2 begins at byte 10, the one before it ends at 8"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.bounds[0] = 1; }),
                HasSubstr("document bound 0 is 1"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.bounds[1] = 4; }),
                HasSubstr("document bound 1 is 4"));
    EXPECT_THAT(complaint([](IndexFile& f) { f.bounds[2] = 2; }), HasSubstr("at sequence 2 of 3"));
    EXPECT_THAT(complaint([](IndexFile& f) {
                    f.bounds.clear();
                    f.num_bounds = 0;
                }),
                HasSubstr("no document bounds"));
}

TEST(MegatronIndex, SurvivesEveryTruncationAndFlippedByte) {
    const std::string good = IndexFile().bytes();
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_FALSE(parse_megatron_index(bytes_of(good.substr(0, size)))) << size;
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x80);
        const auto index = parse_megatron_index(bytes_of(bad));
        EXPECT_TRUE(!index || index->begins.size() == 3u) << at;
    }
}

std::vector<TokenId> document_of(const TokenSource& source, std::int64_t document) {
    std::vector<TokenId> tokens(static_cast<std::size_t>(source.num_tokens(document)));
    const Status status = source.make_reader()->read(document, 0, tokens);
    EXPECT_TRUE(status) << status.error().message;
    return tokens;
}

TEST(Megatron, ReadsBackWhatItWrote) {
    for (const std::int64_t vocabulary : {257, 65499, 65500, 128256}) {
        TempDir dir;
        Rng rng(static_cast<std::uint64_t>(vocabulary));
        std::vector<std::vector<TokenId>> documents(50);
        auto writer = MegatronWriter::create(dir / "set", vocabulary);
        ASSERT_TRUE(writer) << writer.error().message;
        EXPECT_EQ(writer->dtype(), vocabulary < 65500 ? TokenDType::u16 : TokenDType::i32);
        for (auto& document : documents) {
            document.resize(rng.below(30'000));
            for (TokenId& id : document)
                id = static_cast<TokenId>(rng.below(static_cast<std::uint64_t>(vocabulary)));
            ASSERT_TRUE(writer->add_document(document));
        }
        ASSERT_TRUE(writer->finish());
        const auto source = TokenFiles::open_megatron(dir / "set", {dir / "set"});
        ASSERT_TRUE(source) << source.error().message;
        ASSERT_EQ((*source)->num_documents(), 50);
        for (std::int64_t i = 0; i < 50; ++i) {
            const auto& expected = documents[static_cast<std::size_t>(i)];
            EXPECT_EQ(document_of(**source, i), expected) << "vocabulary " << vocabulary;
        }
    }
}

TEST(Megatron, JoinsSeveralSetsAndReadsAtAnyPlace) {
    TempDir dir;
    dir.write("a.idx", IndexFile().bytes());
    dir.write("a.bin", raw<std::uint16_t>({1, 2, 3, 4, 5, 6}));
    dir.write("b.idx", IndexFile().bytes());
    dir.write("b.bin", raw<std::uint16_t>({11, 12, 13, 14, 15, 65535}));
    const auto source = TokenFiles::open_megatron(dir.path(), {dir / "a", dir / "b"});
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->num_documents(), 4);
    EXPECT_EQ((*source)->total_tokens(), 12);
    EXPECT_THAT(document_of(**source, 1), ElementsAre(5, 6));
    EXPECT_THAT(document_of(**source, 3), ElementsAre(15, 65535));
    std::vector<TokenId> middle(2);
    ASSERT_TRUE((*source)->make_reader()->read(2, 1, middle));
    EXPECT_THAT(middle, ElementsAre(12, 13));
    EXPECT_THAT((*source)->document_name(3), HasSubstr("b.bin document 1"));
}

TEST(Megatron, ComparesTheDataWithItsIndex) {
    TempDir dir;
    dir.write("a.idx", IndexFile().bytes());
    dir.write("a.bin", raw<std::uint16_t>({1, 2, 3}));
    const auto source = TokenFiles::open_megatron(dir.path(), {dir / "a"});
    ASSERT_FALSE(source);
    EXPECT_THAT(source.error().message, HasSubstr("has 6 bytes"));
    EXPECT_THAT(source.error().message, HasSubstr("6 tokens of uint16, which take 12"));
    EXPECT_EQ(TokenFiles::open_megatron(dir.path(), {dir / "none"}).error().code,
              ErrorCode::not_found);
}

TEST(Megatron, ReportsAnIdThatIsNoId) {
    TempDir dir;
    IndexFile file;
    file.code = 5;
    file.pointers = {0, 24, 32};
    dir.write("a.idx", file.bytes());
    dir.write("a.bin", raw<std::int64_t>({1, 2, 3, 4, 5, std::int64_t{1} << 40}));
    const auto source = TokenFiles::open_megatron(dir.path(), {dir / "a"});
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_THAT(document_of(**source, 0), ElementsAre(1, 2, 3, 4));
    std::vector<TokenId> tokens(2);
    const Status status = (*source)->make_reader()->read(1, 0, tokens);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("a.bin document 1, from token 0"));
    EXPECT_THAT(status.error().message, HasSubstr("1099511627776"));
}

TEST(Megatron, ReportsDataThatShrank) {
    TempDir dir;
    dir.write("a.idx", IndexFile().bytes());
    dir.write("a.bin", raw<std::uint16_t>({1, 2, 3, 4, 5, 6}));
    const auto source = TokenFiles::open_megatron(dir.path(), {dir / "a"});
    ASSERT_TRUE(source);
    std::filesystem::resize_file(dir / "a.bin", 8);
    std::vector<TokenId> tokens(2);
    EXPECT_THAT((*source)->make_reader()->read(1, 0, tokens).error().message,
                HasSubstr("must not change during a run"));
}

TEST(MegatronWriter, LeavesNothingUnfinishedAndOverwritesNothing) {
    TempDir dir;
    {
        auto writer = MegatronWriter::create(dir / "set", 300);
        ASSERT_TRUE(writer);
        ASSERT_TRUE(writer->add_document(std::vector<TokenId>{1, 2}));
        EXPECT_FALSE(std::filesystem::exists(dir / "set.bin"));
    }
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    dir.write("set.idx", "x");
    const auto second = MegatronWriter::create(dir / "set", 300);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::already_exists);
    EXPECT_THAT(second.error().message, HasSubstr("set.idx exists"));
    EXPECT_EQ(MegatronWriter::create(dir / "no/set", 300).error().code, ErrorCode::not_found);
}

std::string llmc_file(std::int32_t magic, std::int32_t version, std::int32_t tokens,
                      const std::string& data) {
    std::string head = raw({magic, version, tokens});
    head.resize(LlmcHeader::kBytes, '\0');
    return head + data;
}

TEST(Llmc, ReadsBothKinds) {
    TempDir dir;
    dir.write("a.bin", llmc_file(20240520, 1, 3, raw<std::uint16_t>({50256, 1, 2})));
    dir.write("b.bin", llmc_file(20240801, 7, 2, raw<std::uint32_t>({128000, 9})));
    const auto source = TokenFiles::open_llmc(dir.path(), {dir / "a.bin", dir / "b.bin"});
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ((*source)->num_documents(), 2);
    EXPECT_THAT(document_of(**source, 0), ElementsAre(50256, 1, 2));
    EXPECT_THAT(document_of(**source, 1), ElementsAre(128000, 9));
}

TEST(Llmc, SaysWhatIsWrongWithAHeader) {
    const auto complaint = [](const std::string& file) {
        const auto header = parse_llmc_header(bytes_of(file), std::ssize(file));
        EXPECT_FALSE(header);
        return header ? "" : header.error().message;
    };
    EXPECT_THAT(complaint(llmc_file(20240521, 1, 0, "")), HasSubstr("20240520 or 20240801"));
    EXPECT_THAT(complaint(llmc_file(20240520, 2, 0, "")), HasSubstr("version 2; 1 is read"));
    EXPECT_THAT(complaint(llmc_file(20240520, 1, 2, "abc")),
                HasSubstr("1027 bytes; its header names 2 tokens of uint16, which take 1028"));
    EXPECT_THAT(complaint(llmc_file(20240520, 1, -1, "")), HasSubstr("-1 tokens"));
    EXPECT_THAT(complaint(raw<std::int32_t>({20240520, 1, 0})), HasSubstr("1024 bytes of header"));
}

}  // namespace
}  // namespace rm
