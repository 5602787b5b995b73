#include "engine/data/training_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "engine/data/tokens/megatron_writer.h"
#include "tests/engine/data/text_files.h"
#include "tests/support/bpe_trainer.h"

namespace rm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<TokenId> counting(TokenId first, std::size_t count) {
    std::vector<TokenId> tokens(count);
    std::iota(tokens.begin(), tokens.end(), first);
    return tokens;
}

DataSpec spec_of(std::vector<DataSource> sources, double holdout = 0) {
    DataSpec spec;
    spec.sources = std::move(sources);
    spec.holdout = holdout;
    return spec;
}

TrainingData open(const DataSpec& spec, std::int64_t vocabulary = 1000) {
    auto data = TrainingData::open(spec, 7, vocabulary);
    EXPECT_TRUE(data) << data.error().message;
    return std::move(*data);
}

TEST(TrainingData, SplitsFilesOfTokensToo) {
    TempDir dir;
    write_megatron(dir / "set", counting(0, 500));
    TrainingData data = open(spec_of({{dir / "set"}}, 0.1));
    const auto held_out = data.evaluation_samples(49, 1000);
    ASSERT_TRUE(held_out) << held_out.error().message;
    ASSERT_EQ(held_out->size(), 1u);
    EXPECT_EQ((*held_out)[0].tokens, counting(450, 50));
    for (int i = 0; i < 30; ++i) {
        const auto sample = data.stream().next(49);
        EXPECT_LT(*std::max_element(sample->tokens.begin(), sample->tokens.end()), 450);
    }
    EXPECT_FALSE(data.entropies(Activity())->has_value());
}

TEST(TrainingData, NamesDocumentAndValueOfAnIdBeyondTheVocabulary) {
    TempDir dir;
    write_megatron(dir / "set", counting(900, 80));
    TrainingData data = open(spec_of({{dir / "set"}}), 950);
    ASSERT_TRUE(data.stream().next(40));
    const auto sample = data.stream().next(40);
    ASSERT_FALSE(sample);
    EXPECT_EQ(sample.error().code, ErrorCode::out_of_range);
    EXPECT_THAT(sample.error().message, HasSubstr("token 50 of"));
    EXPECT_THAT(sample.error().message, HasSubstr("set.bin document 0 is 950"));
    EXPECT_THAT(sample.error().message, HasSubstr("ids 0 to 949"));
}

TEST(TrainingData, MixesBySizeWhenNoProportionIsGiven) {
    TempDir dir;
    write_megatron(dir / "large", counting(0, 300));
    write_megatron(dir / "small", counting(500, 100));
    const auto share_of_small = [](TrainingData data) {
        int small = 0;
        for (int i = 0; i < 400; ++i)
            small += data.stream().next(10)->tokens[0] >= 500 ? 1 : 0;
        return small;
    };
    EXPECT_NEAR(share_of_small(open(spec_of({{dir / "large"}, {dir / "small"}}))), 100, 2);
    EXPECT_NEAR(share_of_small(open(spec_of({{dir / "large", 1}, {dir / "small", 3}}))), 300, 2);
    EXPECT_THAT(open(spec_of({{dir / "large", 1}, {dir / "small", 3}})).describe()[1],
                HasSubstr("75.0% of the samples"));
}

TEST(TrainingData, EvaluatesEverySourceByItsShare) {
    TempDir dir;
    write_megatron(dir / "a", counting(0, 400));
    write_megatron(dir / "b", counting(500, 400));
    const TrainingData data = open(spec_of({{dir / "a", 3}, {dir / "b", 1}}, 0.5));
    const auto samples = data.evaluation_samples(10, 160);
    ASSERT_TRUE(samples);
    int of_a = 0, of_b = 0;
    for (const Sample& sample : *samples)
        (sample.tokens[0] < 500 ? of_a : of_b) += 1;
    EXPECT_EQ(of_a, 12);
    EXPECT_EQ(of_b, 4);
    EXPECT_EQ(data.evaluation_samples(10, 1)->size(), 2u);
    EXPECT_EQ(data.evaluation_samples(250, 1000).error().code, ErrorCode::invalid_argument);
}

// Writes three documents in each format. In a text the letter of a token names its document and the
// end token names none; in other files the hundreds of the token name it.
std::vector<std::string> write_formats(const TempDir& dir) {
    std::string lines;
    for (int i = 0; i < 3; ++i) {
        const std::string text(static_cast<std::size_t>(10 + i), static_cast<char>('a' + i));
        write_text(dir / format("text/{}.txt", i), text);
        lines += format("{{\"text\": \"{}\"}}\n", text);
    }
    write_text(dir / "lines.jsonl", lines);
    auto writer = MegatronWriter::create(dir / "set", 1000).value();
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(writer.add_document(counting(100 * i, static_cast<std::size_t>(10 + i))));
        std::string file(1024, '\0');
        const std::int32_t head[] = {20240520, 1, 10 + i};
        std::memcpy(file.data(), head, sizeof head);
        for (int n = 0; n < 10 + i; ++n) {
            const auto token = static_cast<std::uint16_t>(100 * i + n);
            file.append(reinterpret_cast<const char*>(&token), sizeof token);
        }
        write_text(dir / format("llmc/{}.bin", i), file);
    }
    EXPECT_TRUE(writer.finish());
    return {dir / "text", dir / "lines.jsonl", dir / "set", dir / "llmc"};
}

TEST(TrainingData, KnowsSeparateDocumentsOfEveryFormat) {
    TempDir dir;
    for (const std::string& path : write_formats(dir)) {
        SCOPED_TRACE(path);
        DataSpec spec = spec_of({{path}});
        spec.documents = Documents::separate;
        TrainingData data = open(spec);
        const bool ends_added = path.ends_with("text") || path.ends_with("jsonl");
        std::vector<std::int64_t> lengths =
            data.stream().next(33 + (ends_added ? 3 : 0))->documents;
        std::sort(lengths.begin(), lengths.end());
        const std::int64_t end = ends_added ? 1 : 0;
        EXPECT_THAT(lengths, ElementsAre(10 + end, 11 + end, 12 + end));

        spec.documents = Documents::joined;
        EXPECT_THAT(open(spec).stream().next(33)->documents, ElementsAre(33));
    }
}

TEST(TrainingData, KnowsSeparateDocumentsOfAMixAndOfWhatIsHeldOut) {
    TempDir dir;
    const std::vector<std::string> paths = write_formats(dir);
    DataSpec spec = spec_of({{paths[2]}, {paths[3]}}, 0.5);
    spec.documents = Documents::separate;
    TrainingData data = open(spec);
    const auto by_hundreds = [](const Sample& sample) {
        std::vector<std::int64_t> lengths;
        for (std::size_t i = 0; i + 1 < sample.tokens.size(); ++i) {
            const bool begins = i == 0 || sample.tokens[i] != sample.tokens[i - 1] + 1;
            if (begins) lengths.push_back(0);
            ++lengths.back();
        }
        return lengths;
    };
    for (int i = 0; i < 40; ++i) {
        const Sample sample = data.stream().next(7).value();
        EXPECT_EQ(sample.documents, by_hundreds(sample));
        EXPECT_EQ(sample.ends_document, sample.tokens[7] != sample.tokens[6] + 1);
    }
    const auto held_out = data.evaluation_samples(11, 1000).value();
    ASSERT_EQ(held_out.size(), 2u);
    for (const Sample& sample : held_out)
        EXPECT_EQ(sample.documents, by_hundreds(sample));
}

TEST(TrainingData, EncodesTextWhenATokenizerIsNamed) {
    TempDir dir;
    const std::string text = "the ring passes the tokens around the ring";
    write_text(dir / "tok/tokenizer.json",
               test::train_tokenizer(text, {.num_merges = 20, .begin_of_text = true}));
    write_text(dir / "text/a.txt", text);
    DataSpec spec = spec_of({{dir / "text"}});
    spec.tokenizer = dir / "tok";
    TrainingData data = open(spec);
    const auto tokenizer = open_tokenizer(spec.tokenizer).value();
    std::vector<TokenId> expected;
    ASSERT_TRUE(encode_document(*tokenizer, *tokenizer->make_encoder(), text, expected));
    ASSERT_EQ(expected.back(), 277);
    EXPECT_EQ(data.stream().next(std::ssize(expected) - 1)->tokens, expected);
    EXPECT_FALSE(data.entropies(Activity())->has_value());
    EXPECT_THAT(TrainingData::open(spec, 7, 277).error().message, HasSubstr("at least 278"));
}

TEST(TrainingData, SaysHowFarItsOpeningIsAndEndsItWhenNobodyWaits) {
    TempDir dir;
    const std::string text = "the ring passes the tokens around the ring";
    write_text(dir / "tok/tokenizer.json", test::train_tokenizer(text, {.num_merges = 20}));
    write_text(dir / "text/a.txt", text);
    write_text(dir / "lines/a.jsonl", "{\"text\": \"" + text + "\"}\n");
    write_megatron(dir / "set", counting(0, 100));
    for (const char* path : {"text", "lines", "set"}) {
        DataSpec spec = spec_of({{dir / path}});
        spec.tokenizer = dir / "tok";
        Activity activity;
        ASSERT_TRUE(TrainingData::open(spec, 7, 1000, {&activity})) << path;
        EXPECT_GE(activity.done.load(), std::ssize(text)) << path;
        activity.cancelled = true;
        const auto given_up = TrainingData::open(spec, 7, 1000, {&activity});
        ASSERT_FALSE(given_up) << path;
        EXPECT_EQ(given_up.error().code, ErrorCode::cancelled) << path;
    }
}

TEST(TrainingData, HasTheEntropiesOfTextInBytes) {
    TempDir dir;
    write_text(dir / "a/1.txt", std::string(100, 'a'));
    write_text(dir / "b/1.jsonl", "{\"text\": \"" + std::string(100, 'b') + "\"}\n");
    const auto entropies = open(spec_of({{dir / "a"}, {dir / "b"}})).entropies(Activity());
    ASSERT_TRUE(entropies && entropies->has_value());
    EXPECT_NEAR((*entropies)->unigram, std::log(2.0), 1e-12);
    EXPECT_EQ((*entropies)->bigram, 0);
}

TEST(TrainingData, RefusesToResumeOnOtherDataOrAnotherTokenizer) {
    TempDir dir;
    write_megatron(dir / "a", counting(0, 100));
    write_megatron(dir / "b", counting(0, 101));
    const std::string hash = open(spec_of({{dir / "a"}})).content_hash({}).value();
    const auto same = [&](const DataSpec& spec, const std::string& recorded) {
        const TrainingData data = open(spec);
        return data.check_same(data.content_hash({}).value(), recorded);
    };
    EXPECT_TRUE(same(spec_of({{dir / "a"}}), hash));
    const Status other = same(spec_of({{dir / "b"}}), hash);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::failed_precondition);
    EXPECT_THAT(other.error().message, HasSubstr("trained on " + hash));
    EXPECT_FALSE(same(spec_of({{dir / "a"}, {dir / "b"}}), hash));
    EXPECT_FALSE(same(spec_of({{dir / "a"}}), "sampled-" + hash));

    const std::string text = "the ring passes the tokens around the ring";
    write_text(dir / "text/a.txt", text);
    std::vector<std::string> hashes;
    for (const int merges : {10, 20}) {
        write_text(dir / "tok/tokenizer.json", test::train_tokenizer(text, {.num_merges = merges}));
        DataSpec spec = spec_of({{dir / "text"}});
        spec.tokenizer = dir / "tok";
        hashes.push_back(open(spec).content_hash({}).value());
    }
    EXPECT_NE(hashes[0], hashes[1]);
}

TEST(TrainingData, SaysWhichSourceIsShorterThanASample) {
    TempDir dir;
    write_megatron(dir / "a", counting(0, 100));
    write_megatron(dir / "b", counting(0, 20));
    TrainingData data = open(spec_of({{dir / "a"}, {dir / "b"}}));
    EXPECT_TRUE(data.stream().check_enough(19));
    EXPECT_THAT(data.stream().check_enough(20).error().message,
                HasSubstr((dir / "b") + " has 20 training tokens"));
}

}  // namespace
}  // namespace rm
