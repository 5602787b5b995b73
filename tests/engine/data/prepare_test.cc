#include "engine/data/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "engine/data/data_format.h"
#include "engine/data/tokens/token_files.h"
#include "engine/tokenizer/tokenizer_json.h"
#include "tests/engine/data/text_files.h"
#include "tests/support/bpe_trainer.h"

namespace rm {
namespace {

using testing::HasSubstr;

std::string some_text(Rng& rng, std::uint64_t words) {
    static constexpr const char* kWords[] = {"ring ", "the ",     "attention\n",
                                             "of ",   "tokens. ", "12"};
    std::string text;
    for (std::uint64_t i = 0; i < words; ++i)
        text += kWords[rng.below(std::size(kWords))];
    return text;
}

class Prepare : public testing::Test {
protected:
    Prepare() {
        Rng rng(5);
        for (int i = 0; i < 300; ++i) {
            texts_.push_back(some_text(rng, 1 + rng.below(i % 40 == 0 ? 60'000 : 200)));
            lines_ += nlohmann::json{{"text", texts_.back()}}.dump() + "\n";
        }
        write_text(dir_ / "in/a.jsonl", lines_);
        tokenizer_ = parse_tokenizer({.name = "t",
                                      .tokenizer = test::train_tokenizer(
                                          texts_[0], {.num_merges = 20, .begin_of_text = true})})
                         .value();
    }
    std::vector<std::unique_ptr<TextSource>> open(const std::string& path) const {
        std::vector<std::unique_ptr<TextSource>> texts;
        texts.push_back(open_text(find_data(path, "auto").value()).value());
        return texts;
    }
    std::string output(const std::string& name, int threads) {
        const auto counts = prepare(open(dir_ / "in"), *tokenizer_,
                                    {.output = dir_ / name, .num_threads = threads});
        EXPECT_TRUE(counts) << counts.error().message;
        return read_text(dir_ / (name + ".idx")) + read_text(dir_ / (name + ".bin"));
    }

    TempDir dir_;
    std::vector<std::string> texts_;
    std::string lines_;
    std::unique_ptr<BpeTokenizer> tokenizer_;
};

TEST_F(Prepare, WritesEveryDocumentOnceWithItsTemplateAndEnd) {
    output("out", 2);
    const auto source = TokenFiles::open_megatron(dir_ / "out", {dir_ / "out"}).value();
    ASSERT_EQ(source->num_documents(), 300);
    const auto reader = source->make_reader();
    for (std::int64_t i = 0; i < 300; ++i) {
        std::vector<TokenId> ids(static_cast<std::size_t>(source->num_tokens(i)));
        ASSERT_TRUE(reader->read(i, 0, ids));
        EXPECT_EQ(ids.front(), 276);
        EXPECT_EQ(ids.back(), 277);
        EXPECT_EQ(tokenizer_->decode(ids, SpecialTokens::skip).value(),
                  texts_[static_cast<std::size_t>(i)]);
    }
}

TEST_F(Prepare, DoesNotDependOnTheNumberOfThreads) {
    const std::string one = output("one", 1);
    EXPECT_EQ(output("two", 2), one);
    EXPECT_EQ(output("five", 5), one);
}

TEST_F(Prepare, ReportsAllOfItAtTheEnd) {
    PrepareProgress last;
    const auto counts =
        prepare(open(dir_ / "in"), *tokenizer_,
                {.output = dir_ / "out",
                 .num_threads = 2,
                 .on_progress = [&](const PrepareProgress& progress) { last = progress; }});
    ASSERT_TRUE(counts);
    EXPECT_EQ(last.stored_done, last.stored_total);
    EXPECT_EQ(last.counts.documents, 300);
    std::int64_t bytes = 0;
    for (const std::string& text : texts_)
        bytes += std::ssize(text);
    EXPECT_EQ(counts->bytes, bytes);
}

TEST_F(Prepare, EndsAtABadLineAndLeavesNothing) {
    write_text(dir_ / "bad/a.jsonl", lines_ + "{\"text\": 3}\n");
    const auto counts =
        prepare(open(dir_ / "bad"), *tokenizer_, {.output = dir_ / "out", .num_threads = 3});
    ASSERT_FALSE(counts);
    EXPECT_THAT(counts.error().message, HasSubstr("a.jsonl:301: \"text\" is number"));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path()), {}), 2);
}

TEST_F(Prepare, StopsWhenAskedAndLeavesNothing) {
    const std::atomic<bool> stop{true};
    const auto counts = prepare(open(dir_ / "in"), *tokenizer_,
                                {.output = dir_ / "out", .num_threads = 2, .stop = &stop});
    ASSERT_FALSE(counts);
    EXPECT_EQ(counts.error().code, ErrorCode::cancelled);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path()), {}), 1);
}

TEST_F(Prepare, PassesOverEmptyDocumentsAndRefusesNothingElse) {
    write_text(dir_ / "few/a.jsonl", "{\"text\": \"\"}\n{\"text\": \"a\"}\n");
    const auto counts = prepare(open(dir_ / "few"), *tokenizer_, {.output = dir_ / "out"});
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(counts->documents, 1);
    EXPECT_EQ(counts->empty_documents, 1);
    write_text(dir_ / "none/a.jsonl", "{\"text\": \"\"}\n");
    EXPECT_THAT(prepare(open(dir_ / "none"), *tokenizer_, {.output = dir_ / "no"}).error().message,
                HasSubstr("there is no text: 1 document in all, and nothing in it"));
}

}  // namespace
}  // namespace rm
