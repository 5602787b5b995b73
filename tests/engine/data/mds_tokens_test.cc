// Sets that a writer of its own has made, from the description of the format.
#include "engine/data/tokens/mds_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/data/data_format.h"
#include "tests/engine/data/text_files.h"
#include "tests/support/run_program.h"

namespace rm {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kSamples = 25;

std::vector<TokenId> tokens_of(std::int64_t sample, std::int64_t first, std::int64_t end) {
    std::vector<TokenId> tokens;
    for (std::int64_t j = first; j < end; ++j)
        tokens.push_back(static_cast<TokenId>((1000 * sample + 7 * j) % 50021));
    return tokens;
}

class MdsSet : public testing::Test {
protected:
    void SetUp() override {
        if (test::run_program("/usr/bin/python3", "-c 'import numpy'").code != 0)
            GTEST_SKIP() << "/usr/bin/python3 with NumPy is not installed (python3-numpy)";
    }
    void write(const std::string& name, const std::string& kind, const std::string& how = "") {
        const auto ran = test::run_program(
            "/usr/bin/python3", format("'{}' '{}' {} {}", RM_MDS_WRITER, dir_ / name, kind, how));
        ASSERT_EQ(ran.code, 0) << ran.output;
    }
    Result<std::unique_ptr<TokenSource>> open(const std::string& name) {
        RM_TRY(const FoundData found, find_data(dir_ / name, "auto"));
        EXPECT_EQ(found.format, DataFormat::mds);
        return open_tokens(found, ByteTokenizer(), 50021);
    }
    std::vector<std::vector<TokenId>> documents(const std::string& name) {
        const auto source = open(name);
        EXPECT_TRUE(source) << source.error().message;
        if (!source) return {};
        EXPECT_TRUE((*source)->check_ids(50021, {}));
        std::vector<std::vector<TokenId>> all;
        const auto reader = (*source)->make_reader();
        for (std::int64_t i = 0; i < (*source)->num_documents(); ++i) {
            auto& tokens = all.emplace_back(static_cast<std::size_t>((*source)->num_tokens(i)));
            const Status read = reader->read(i, 0, tokens);
            EXPECT_TRUE(read) << read.error().message;
        }
        return all;
    }
    std::string complaint(const std::string& name) {
        const auto source = open(name);
        return source ? "" : source.error().message;
    }
    // Changes the bytes of a file.
    template <typename Change>
    void damage(const std::string& file, const Change& change) {
        std::string bytes = read_text(dir_ / file);
        change(bytes);
        write_text(dir_ / file, bytes);
    }

    TempDir dir_;
};

TEST_F(MdsSet, HasTheTokensOfFixedAndVariableColumns) {
    for (const std::string kind : {"fixed", "variable", "dynamic"}) {
        for (const std::string how : {"", "zstd"}) {
            SCOPED_TRACE(kind + how);
            write(kind + how, kind, how);
            const auto all = documents(kind + how);
            ASSERT_EQ(std::ssize(all), kSamples);
            for (std::int64_t i = 0; i < kSamples; ++i) {
                const std::int64_t n = kind == "fixed" ? 64 : kind == "variable" ? 10 * i : 10 + i;
                EXPECT_EQ(all[static_cast<std::size_t>(i)], tokens_of(i, 0, n)) << i;
            }
        }
    }
}

TEST_F(MdsSet, TakesTheSpansOfPackedSamplesForDocuments) {
    write("set", "packed");
    const auto all = documents("set");
    ASSERT_EQ(std::ssize(all), 3 * kSamples);
    for (std::int64_t i = 0; i < kSamples; ++i) {
        const auto at = static_cast<std::size_t>(3 * i);
        EXPECT_EQ(all[at], tokens_of(i, 0, 28 + i)) << i;
        EXPECT_EQ(all[at + 1], tokens_of(i, 28 + i, 100)) << i;
        EXPECT_EQ(all[at + 2], tokens_of(i, 101, 128)) << i;
    }
}

TEST_F(MdsSet, ReadsAPartOfADocument) {
    write("set", "packed", "zstd");
    const auto source = open("set");
    ASSERT_TRUE(source) << source.error().message;
    std::vector<TokenId> part(9);
    ASSERT_TRUE((*source)->make_reader()->read(3 * 24 + 1, 5, part));
    EXPECT_EQ(part, tokens_of(24, 28 + 24 + 5, 28 + 24 + 14));
}

// A folder of sets is one source. A decompressed shard takes the place of its compressed file.
TEST_F(MdsSet, IsFoundBelowAFolderAndByItsIndex) {
    write("all/a", "fixed");
    write("all/b", "packed", "zstd");
    EXPECT_EQ(std::ssize(documents("all")), kSamples + 3 * kSamples);
    EXPECT_EQ(std::ssize(documents("all/a/index.json")), kSamples);
    const auto before = open("all/b");
    ASSERT_TRUE(before);
    EXPECT_THAT((*before)->describe(), HasSubstr("in 75 documents (MDS,"));
    for (const auto& entry : fs::directory_iterator(dir_ / "all/b")) {
        if (entry.path().extension() != ".zstd") continue;
        const std::string zip = entry.path().string();
        const auto ran = test::run_program(
            "zstd", format("-q -d '{}' -o '{}'", zip, zip.substr(0, zip.size() - 5)));
        ASSERT_EQ(ran.code, 0) << ran.output;
        fs::remove(zip);
    }
    EXPECT_EQ(std::ssize(documents("all/b")), 3 * kSamples);
}

TEST_F(MdsSet, NamesTheBrokenShard) {
    write("set", "variable");
    fs::copy(dir_ / "set", dir_ / "short");
    damage("short/shard.00001.mds", [](std::string& bytes) { bytes.pop_back(); });
    EXPECT_THAT(complaint("short"), HasSubstr("short/shard.00001.mds has "));
    fs::copy(dir_ / "set", dir_ / "count");
    damage("count/shard.00000.mds", [](std::string& bytes) { bytes[0] ^= 1; });
    EXPECT_THAT(complaint("count"), HasSubstr("count/shard.00000.mds: has "));
    fs::copy(dir_ / "set", dir_ / "offset");
    damage("offset/shard.00000.mds", [](std::string& bytes) { bytes[4 + 4 * 3] ^= 1; });
    EXPECT_THAT(complaint("offset"), HasSubstr("offset/shard.00000.mds: sample 2: takes "));
    fs::copy(dir_ / "set", dir_ / "beyond");
    damage("beyond/shard.00000.mds", [](std::string& bytes) { bytes[4 + 4 * 3 + 3] = 0x7f; });
    EXPECT_THAT(complaint("beyond"), HasSubstr("sample 2 lies at bytes"));
    fs::copy(dir_ / "set", dir_ / "gone");
    fs::remove(dir_ / "gone/shard.00001.mds");
    EXPECT_THAT(complaint("gone"), HasSubstr("cannot read " + (dir_ / "gone/shard.00001.mds")));
}

TEST_F(MdsSet, NamesABrokenCompressedShard) {
    write("set", "fixed", "zstd");
    damage("set/shard.00000.mds.zstd", [](std::string& bytes) { bytes[0] ^= 1; });
    EXPECT_THAT(complaint("set"), HasSubstr("set/shard.00000.mds.zstd: Unknown frame descriptor"));
}

TEST_F(MdsSet, SaysWhichPartOfTheFormatIsNotRead) {
    write("set", "packed");
    const auto with = [&](const std::string& from, const std::string& to) {
        fs::remove_all(dir_ / "other");
        fs::copy(dir_ / "set", dir_ / "other");
        damage("other/index.json", [&](std::string& text) {
            const std::size_t at = text.find(from);
            ASSERT_NE(at, std::string::npos);
            text.replace(at, from.size(), to);
        });
        return complaint("other");
    };
    EXPECT_THAT(with("\"version\": 2}", "\"version\": 3}"), HasSubstr("has version 3; 2 is read"));
    EXPECT_THAT(with("\"format\": \"mds\"", "\"format\": \"json\""),
                HasSubstr("shard 0: has the format 'json'; mds is read"));
    EXPECT_THAT(
        with("\"input_ids\"", "\"other_ids\""),
        HasSubstr("has no column 'input_ids' of tokens; its columns are indices, other_ids"));
    EXPECT_THAT(with("\"ndarray:uint32\"", "\"pkl\""),
                HasSubstr("sample 0: indices: is encoded as 'pkl'; ndarray is read"));
    EXPECT_THAT(with("\"ndarray:uint32\"", "\"ndarray:float32\""),
                HasSubstr("has numbers of type float32; whole numbers are read"));
    EXPECT_THAT(with("\"compression\": null", "\"compression\": \"gz\""),
                HasSubstr("is compressed with 'gz'; zstd is read"));
    EXPECT_THAT(with("\"basename\": \"shard", "\"basename\": \"../shard"),
                HasSubstr("not the name of a file beside the index"));
}

TEST_F(MdsSet, ContentIsKnownByItsHash) {
    write("a", "packed");
    write("b", "packed");
    const auto hash = [&](const std::string& name) {
        return open(name).value()->content_hash({}).value();
    };
    EXPECT_EQ(hash("a"), hash("b"));
    damage("b/shard.00001.mds", [](std::string& bytes) { bytes.back() ^= 1; });
    EXPECT_NE(hash("a"), hash("b"));
}

TEST_F(MdsSet, RefusesForeignIds) {
    write("set", "fixed");
    const auto refused = open("set").value()->check_ids(20000, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::out_of_range);
    EXPECT_THAT(refused.error().message, HasSubstr("the model's vocabulary has ids 0 to 19999"));
}

}  // namespace
}  // namespace rm
