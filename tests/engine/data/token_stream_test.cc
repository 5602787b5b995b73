#include "engine/data/token_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/engine/data/text_files.h"

namespace rm {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kVocabulary = ByteTokenizer::kVocabulary;

// Twelve documents of 1 to 40 random letters; each begins with a byte of its own.
class TokenStreamTest : public testing::Test {
protected:
    TokenStreamTest() {
        Rng rng(11);
        for (int i = 0; i < 12; ++i) {
            std::string text(1, static_cast<char>('A' + i));
            for (std::uint64_t n = rng.below(40); n > 0; --n) {
                text.push_back(static_cast<char>('a' + rng.below(26)));
            }
            texts_.push_back(text);
            write_text(dir_ / format("{:02}.txt", i), text);
        }
        corpus_ = byte_source(dir_.path());
        documents_ = split_held_out(*corpus_, 0, 0)->train;
    }

    TokenStream stream(std::uint64_t seed, Documents kind = Documents::joined) const {
        return {*corpus_, documents_, seed, kVocabulary, kind};
    }

    // The first `count` tokens, read in one sample.
    std::vector<std::int32_t> stretch(std::uint64_t seed, std::int64_t count) const {
        return stream(seed).next(count - 1)->tokens;
    }

    TempDir dir_;
    std::vector<std::string> texts_;
    std::unique_ptr<ByteSource> corpus_;
    DocumentSet documents_;
};

// The first letter of each document in `tokens`, which begins with a document.
std::string first_letters(const std::vector<std::int32_t>& tokens) {
    std::string letters;
    bool at_start = true;
    for (const std::int32_t token : tokens) {
        if (at_start) letters.push_back(static_cast<char>(token));
        at_start = token == ByteTokenizer::kEndOfDocument;
    }
    return letters;
}

TEST_F(TokenStreamTest, GivesEachDocumentWholeAndOncePerEpoch) {
    TokenStream tokens = stream(5);
    const std::int64_t epoch = tokens.tokens_per_epoch();
    EXPECT_EQ(epoch, corpus_->total_tokens() + 12);
    std::set<std::string> orders;
    for (int i = 0; i < 3; ++i) {
        std::vector<std::int32_t> all = tokens.next(epoch)->tokens;
        all.pop_back();
        std::vector<std::int32_t> expected;
        for (const char letter : first_letters(all)) {
            const std::string& text = texts_[static_cast<std::size_t>(letter - 'A')];
            expected.insert(expected.end(), text.begin(), text.end());
            expected.push_back(ByteTokenizer::kEndOfDocument);
        }
        EXPECT_EQ(all, expected) << "epoch " << i;
        EXPECT_EQ(first_letters(all).size(), 12u);
        EXPECT_EQ(tokens.position(), (StreamPosition{i + 1, 0, 0, (i + 1) * epoch}));
        orders.insert(first_letters(all));
    }
    EXPECT_EQ(orders.size(), 3u);  // each epoch in an order of its own
}

TEST_F(TokenStreamTest, LosesNoTargetBetweenSamples) {
    for (const std::int64_t context : {1, 7, 16, 100, 1000}) {
        const std::vector<std::int32_t> all = stretch(5, 5 * context + 1);
        TokenStream tokens = stream(5);
        for (std::int64_t i = 0; i < 5; ++i) {
            const auto first = all.begin() + i * context;
            EXPECT_EQ(tokens.next(context)->tokens,
                      std::vector<std::int32_t>(first, first + context + 1));
            EXPECT_EQ(tokens.position().tokens, (i + 1) * context);
        }
    }
}

TEST_F(TokenStreamTest, DependsOnTheSeedOnly) {
    EXPECT_EQ(stretch(5, 300), stretch(5, 300));
    EXPECT_NE(stretch(5, 300), stretch(6, 300));
}

TEST_F(TokenStreamTest, ContinuesFromAnyPositionExactly) {
    TokenStream straight = stream(9);
    for (int i = 0; i < 60; ++i) {
        const std::int64_t context = 1 + (i * 5) % 13;  // stages change the context
        const StreamPosition position =
            stream_position_from_json(to_json(straight.position())).value();
        TokenStream resumed = stream(9);
        const Status sought = resumed.seek(position);
        ASSERT_TRUE(sought) << sought.error().message;
        const auto expected = straight.next(context)->tokens;
        ASSERT_EQ(resumed.next(context)->tokens, expected) << "sample " << i;
        ASSERT_EQ(resumed.position(), straight.position());
    }
    EXPECT_GE(straight.position().epoch, 1);
}

// Derives the documents of a sample from the end-of-document tokens.
Sample with_documents(std::vector<std::int32_t> tokens) {
    Sample sample;
    std::int64_t begin = 0;
    const std::int64_t context = std::ssize(tokens) - 1;
    for (std::int64_t i = 0; i < context; ++i) {
        sample.ends_document = tokens[static_cast<std::size_t>(i)] == ByteTokenizer::kEndOfDocument;
        if (!sample.ends_document && i + 1 < context) continue;
        sample.documents.push_back(i + 1 - begin);
        begin = i + 1;
    }
    sample.tokens = std::move(tokens);
    return sample;
}

void expect_documents(const Sample& sample) {
    const Sample expected = with_documents(sample.tokens);
    EXPECT_EQ(sample.documents, expected.documents);
    EXPECT_EQ(sample.ends_document, expected.ends_document);
}

TEST_F(TokenStreamTest, KnowsWhereSeparateDocumentsEndInASample) {
    std::set<bool> ends;
    for (const std::int64_t context : {1, 7, 16, 100, 1000}) {
        TokenStream tokens = stream(5, Documents::separate);
        for (int i = 0; i < 60; ++i) {
            const Sample sample = tokens.next(context).value();
            SCOPED_TRACE(format("sample {} of context {}", i, context));
            expect_documents(sample);
            ends.insert(sample.ends_document);
        }
    }
    EXPECT_EQ(ends.size(), 2u) << "both kinds of end were seen";
}

TEST_F(TokenStreamTest, HasTheSameTokensWhetherDocumentsAreJoinedOrNot) {
    TokenStream joined = stream(5), separate = stream(5, Documents::separate);
    for (int i = 0; i < 40; ++i) {
        const std::int64_t context = 1 + i % 17;
        const Sample sample = joined.next(context).value();
        EXPECT_EQ(sample.tokens, separate.next(context)->tokens);
        EXPECT_EQ(sample.documents, std::vector<std::int64_t>{context});
        EXPECT_FALSE(sample.ends_document) << "the target of the last token is asked for";
        EXPECT_EQ(joined.position(), separate.position());
    }
}

TEST_F(TokenStreamTest, BeginsADocumentAnewWhereASampleBeginsInItsMiddle) {
    TokenStream straight = stream(9, Documents::separate);
    for (int i = 0; i < 60; ++i) {
        TokenStream resumed = stream(9, Documents::separate);
        ASSERT_TRUE(resumed.seek(straight.position()));
        const Sample expected = straight.next(1 + (i * 5) % 13).value();
        const Sample sample = resumed.next(1 + (i * 5) % 13).value();
        ASSERT_EQ(sample.documents, expected.documents) << "sample " << i;
        ASSERT_EQ(sample.ends_document, expected.ends_document) << "sample " << i;
        expect_documents(sample);
    }
}

TEST_F(TokenStreamTest, RefusesAPositionOfOtherData) {
    TokenStream tokens = stream(9);
    ASSERT_TRUE(tokens.next(100));
    const StreamPosition good = tokens.position();
    for (StreamPosition bad :
         {StreamPosition{0, 12, 0, 0}, StreamPosition{0, -1, 0, 0}, StreamPosition{-1, 0, 0, 0},
          StreamPosition{0, 0, 1000, 1000}, StreamPosition{0, good.document, good.offset, 101},
          StreamPosition{1, good.document, good.offset, good.tokens}}) {
        const Status sought = tokens.seek(bad);
        ASSERT_FALSE(sought) << to_json(bad).dump();
        EXPECT_EQ(sought.error().code, ErrorCode::failed_precondition);
        EXPECT_EQ(tokens.position(), good);
    }
}

TEST_F(TokenStreamTest, NamesBothSizesWhenTheTextIsShorterThanASample) {
    const TokenStream tokens = stream(1);
    const std::int64_t size = tokens.tokens_per_epoch();
    EXPECT_TRUE(tokens.check_enough(size - 1));
    const Status status = tokens.check_enough(size);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(status.error().message, HasSubstr(format("has {} training tokens", size)));
    EXPECT_THAT(status.error().message, HasSubstr(format("needs {}", size + 1)));
    EXPECT_THAT(status.error().message, HasSubstr(format("at most {}", size - 1)));
}

TEST_F(TokenStreamTest, StaysWhereItWasWhenAFileChanges) {
    TokenStream tokens = stream(1);
    ASSERT_TRUE(tokens.next(3));
    const StreamPosition before = tokens.position();
    for (int i = 0; i < 12; ++i)
        write_text(dir_ / format("{:02}.txt", i), "");
    const auto sample = tokens.next(300);
    ASSERT_FALSE(sample);
    EXPECT_THAT(sample.error().message, HasSubstr("must not change during a run"));
    EXPECT_EQ(tokens.position(), before);
}

TEST_F(TokenStreamTest, EvaluationSeesEachHeldOutTargetOnce) {
    const Split split = split_held_out(*corpus_, 0.4, 3).value();
    const auto whole = evaluation_samples(*corpus_, split.held_out, kVocabulary,
                                          split.held_out.num_tokens() - 1, 1 << 20);
    ASSERT_EQ(whole->size(), 1u);
    const std::vector<std::int32_t>& all = (*whole)[0].tokens;
    EXPECT_EQ(all.back(), ByteTokenizer::kEndOfDocument);

    const auto samples = evaluation_samples(*corpus_, split.held_out, kVocabulary, 8, 1 << 20);
    ASSERT_EQ(static_cast<std::int64_t>(samples->size()), (split.held_out.num_tokens() - 1) / 8);
    for (std::size_t i = 0; i < samples->size(); ++i) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * 8);
        EXPECT_EQ((*samples)[i].tokens, std::vector<std::int32_t>(first, first + 9));
    }
    EXPECT_EQ(evaluation_samples(*corpus_, split.held_out, kVocabulary, 8, 17)->size(), 2u);
    EXPECT_EQ(evaluation_samples(*corpus_, split.held_out, kVocabulary, 8, 3)->size(), 1u);
}

TEST_F(TokenStreamTest, EvaluationKnowsSeparateDocumentsToo) {
    const Split split = split_held_out(*corpus_, 0.7, 3).value();
    for (const std::int64_t context : {1, 5, 8, 40}) {
        const auto samples = [&](Documents kind) {
            return evaluation_samples(*corpus_, split.held_out, kVocabulary, context, 1 << 20, kind)
                .value();
        };
        for (const Sample& sample : samples(Documents::separate))
            expect_documents(sample);
        for (const Sample& sample : samples(Documents::joined)) {
            EXPECT_EQ(sample.documents, std::vector<std::int64_t>{context});
            EXPECT_FALSE(sample.ends_document);
        }
    }
}

TEST_F(TokenStreamTest, EvaluationNeedsOneWholeSample) {
    const Split split = split_held_out(*corpus_, 0.1, 3).value();
    const auto samples = evaluation_samples(*corpus_, split.held_out, kVocabulary, 1000, 1 << 20);
    ASSERT_FALSE(samples);
    EXPECT_THAT(samples.error().message,
                HasSubstr(format("{} held-out tokens", split.held_out.num_tokens())));
}

TEST(StreamPosition, RefusesJsonThatIsNotAPosition) {
    const auto position =
        stream_position_from_json({{"epoch", 1}, {"document", 2.5}, {"offset", 0}, {"tokens", 0}});
    ASSERT_FALSE(position);
    EXPECT_EQ(position.error().message, "'document' is 2.5, not a whole number of 64 bits");
    EXPECT_EQ(stream_position_from_json({{"epoch", 1}}).error().message, "'document' is missing");
    EXPECT_FALSE(stream_position_from_json(nlohmann::json::array()));
    EXPECT_FALSE(stream_position_from_json(
        {{"epoch", 18446744073709551615U}, {"document", 0}, {"offset", 0}, {"tokens", 0}}));
}

}  // namespace
}  // namespace rm
