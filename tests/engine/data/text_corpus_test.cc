#include "engine/data/text/text_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> paths_of(const TextCorpus& corpus) {
    std::vector<std::string> paths;
    for (const Document& document : corpus.documents())
        paths.push_back(document.path);
    return paths;
}

TEST(TextCorpus, TakesTextFilesInTheByteOrderOfTheirPaths) {
    TempDir dir;
    write_text(dir / "b.txt", "bb");
    write_text(dir / "a/z.md", "zzz");
    write_text(dir / "a.py", "p");
    write_text(dir / "LICENSE", "free");
    write_text(dir / "B.TXT", "upper");
    write_text(dir / "a/deep/er.rst.txt", "d");
    const auto corpus = TextCorpus::open(dir.path());
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_THAT(paths_of(*corpus),
                ElementsAre("B.TXT", "LICENSE", "a.py", "a/deep/er.rst.txt", "a/z.md", "b.txt"));
    EXPECT_EQ(corpus->num_bytes(), 16);
    EXPECT_EQ(corpus->skipped().total(), 0);
}

TEST(TextCorpus, PassesOverWhatIsNotTextAndCountsIt) {
    TempDir dir;
    write_text(dir / "good.txt", "text");
    write_text(dir / "picture.png", "p");
    write_text(dir / ".hidden", "h");
    write_text(dir / ".git/config", "h");
    write_text(dir / "binary.txt", std::string_view("a\0b", 3));
    write_text(dir / "empty.txt", "");
    std::filesystem::create_symlink("nowhere", dir / "dangling.txt");
    const auto corpus = TextCorpus::open(dir.path());
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_THAT(paths_of(*corpus), ElementsAre("good.txt"));
    EXPECT_EQ(corpus->skipped().hidden, 2);
    EXPECT_EQ(corpus->skipped().extension, 1);
    EXPECT_EQ(corpus->skipped().binary, 1);
    EXPECT_EQ(corpus->skipped().empty, 1);
    EXPECT_EQ(corpus->skipped().not_file, 1);
}

TEST(TextCorpus, LooksForNulInTheFirstFourKilobytesOnly) {
    TempDir dir;
    write_text(dir / "late.txt", std::string(4096, 'a') + std::string(1, '\0'));
    write_text(dir / "early.txt", std::string(4095, 'a') + std::string(1, '\0'));
    const auto corpus = TextCorpus::open(dir.path());
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_THAT(paths_of(*corpus), ElementsAre("late.txt"));
}

TEST(TextCorpus, FollowsLinksAndEndsInACircleOfThem) {
    TempDir dir;
    write_text(dir / "data/a.txt", "a");
    write_text(dir / "elsewhere/b.txt", "b");
    std::filesystem::create_directory_symlink("../elsewhere", dir / "data/link");
    std::filesystem::create_directory_symlink("..", dir / "data/up");
    const auto corpus = TextCorpus::open(dir / "data");
    ASSERT_TRUE(corpus) << corpus.error().message;
    EXPECT_THAT(paths_of(*corpus), ElementsAre("a.txt", "link/b.txt"));
}

TEST(TextCorpus, TakesASingleFileWhateverItsName) {
    TempDir dir;
    write_text(dir / "book.xyz", "once upon");
    const auto corpus = TextCorpus::open(dir / "book.xyz");
    ASSERT_TRUE(corpus) << corpus.error().message;
    ASSERT_EQ(corpus->documents().size(), 1u);
    EXPECT_EQ(corpus->num_bytes(), 9);
    EXPECT_EQ(corpus->file_path(0), dir / "book.xyz");
}

TEST(TextCorpus, SaysWhichPathIsMissing) {
    TempDir dir;
    const auto corpus = TextCorpus::open(dir / "nowhere");
    ASSERT_FALSE(corpus);
    EXPECT_EQ(corpus.error().code, ErrorCode::not_found);
    EXPECT_THAT(corpus.error().message, HasSubstr(dir / "nowhere"));
}

TEST(TextCorpus, SaysWhatItLookedForWhenThereIsNoText) {
    TempDir dir;
    write_text(dir / "a.png", "x");
    write_text(dir / "b.bin", "x");
    const auto corpus = TextCorpus::open(dir.path());
    ASSERT_FALSE(corpus);
    EXPECT_EQ(corpus.error().code, ErrorCode::not_found);
    EXPECT_THAT(corpus.error().message, HasSubstr("looked for .txt .md .rst"));
    EXPECT_THAT(corpus.error().message, HasSubstr("skipped 2 (2 of other extensions"));
}

TEST(TextCorpus, RefusesEmptyData) {
    TempDir dir;
    EXPECT_THAT(TextCorpus::open(dir.path()).error().message, HasSubstr("no text file"));
    write_text(dir / "a.txt", "");
    write_text(dir / "b.txt", "");
    EXPECT_THAT(TextCorpus::open(dir.path()).error().message,
                HasSubstr("holds no text: 2 text files are there, and empty"));
    EXPECT_THAT(TextCorpus::open(dir / "a.txt").error().message, HasSubstr("it is empty"));
}

TEST(TextCorpus, RefusesASingleBinaryFileAndADevice) {
    TempDir dir;
    write_text(dir / "a.txt", std::string_view("\0", 1));
    EXPECT_THAT(TextCorpus::open(dir / "a.txt").error().message, HasSubstr("NUL byte"));
    EXPECT_THAT(TextCorpus::open("/dev/null").error().message,
                HasSubstr("neither a directory nor a file"));
}

// Root can read every file, so the test drops root for a moment.
class AsNobody {
public:
    AsNobody() {
        if (before_ == 0) changed_ = ::seteuid(65534) == 0;
    }
    ~AsNobody() {
        if (changed_ && ::seteuid(before_) != 0) ADD_FAILURE() << "not root again";
    }

private:
    uid_t before_ = ::geteuid();
    bool changed_ = false;
};

TEST(TextCorpus, NamesAFileItMayNotRead) {
    TempDir dir;
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    write_text(dir / "good.txt", "text");
    write_text(dir / "secret.txt", "text");
    ASSERT_EQ(::chmod((dir / "secret.txt").c_str(), 0), 0);
    const AsNobody nobody;
    const auto corpus = TextCorpus::open(dir.path());
    ASSERT_FALSE(corpus);
    EXPECT_EQ(corpus.error().code, ErrorCode::permission_denied);
    EXPECT_THAT(corpus.error().message, HasSubstr("secret.txt: Permission denied"));
}

std::string hash_of(const std::string& path) {
    return TextCorpus::open(path).value().content_hash({}).value();
}

TEST(ContentHash, ChangesWithAnyByteNameOrBoundary) {
    TempDir dir;
    const auto fresh = [&](std::string_view name) {
        std::filesystem::remove_all(dir / "d");
        write_text(dir / "d/a.txt", "hello");
        write_text(dir / format("d/{}", name), "world");
        return hash_of(dir / "d");
    };
    const std::string hash = fresh("b.txt");
    EXPECT_EQ(fresh("b.txt"), hash);
    EXPECT_NE(fresh("c.txt"), hash);
    fresh("b.txt");
    write_text(dir / "d/b.txt", "worle");
    EXPECT_NE(hash_of(dir / "d"), hash);
    write_text(dir / "d/a.txt", "hellow");
    write_text(dir / "d/b.txt", "orld");
    EXPECT_NE(hash_of(dir / "d"), hash);
}

TEST(TextCorpus, ReportsAFileThatShrank) {
    TempDir dir;
    write_text(dir / "a.txt", "0123456789");
    const auto corpus = TextCorpus::open(dir.path());
    const auto reader = corpus->make_reader();
    std::vector<std::uint8_t> bytes(4);
    ASSERT_TRUE(reader->read(0, 6, bytes));
    EXPECT_EQ(bytes.back(), '9');
    write_text(dir / "a.txt", "01234567");
    const Status short_read = reader->read(0, 6, bytes);
    ASSERT_FALSE(short_read);
    EXPECT_THAT(short_read.error().message, HasSubstr("ends before byte 10, but had 10 bytes"));
    EXPECT_TRUE(reader->read(0, 0, bytes));
}

}  // namespace
}  // namespace rm
