#include "engine/tokenizer/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

#include "engine/tokenizer/tokenizer.h"
#include "tests/support/bpe_trainer.h"
#include "tests/support/real_text.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kText =
    "the ring passes the tokens around the ring, and the tokens pass the ring again and again; "
    "that is the way of the ring. 12 rings, 123 rings, 1234 rings!\n\nThe end of the ring.\n";

json trained(test::TrainerOptions options = {.num_merges = 40}) {
    return json::parse(test::train_tokenizer(kText, options));
}

Result<std::unique_ptr<BpeTokenizer>> parse(const json& file) {
    return parse_tokenizer({.name = "t.json", .tokenizer = file.dump()});
}

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<TokenId> ids;
    const Status status = tokenizer.make_encoder()->encode(text, ids);
    EXPECT_TRUE(status.ok());
    return ids;
}

std::string round_trip(const Tokenizer& tokenizer, std::string_view text) {
    return tokenizer.decode(ids_of(tokenizer, text), SpecialTokens::keep).value();
}

// Returns the error for a good file after `change`.
std::string complaint(const std::function<void(json&)>& change) {
    json file = trained();
    change(file);
    const auto tokenizer = parse(file);
    EXPECT_FALSE(tokenizer);
    return tokenizer ? "" : tokenizer.error().message;
}

TEST(TokenizerJson, GivesBackEveryText) {
    const auto tokenizer = parse(trained());
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_LT(ids_of(**tokenizer, kText).size(), std::string(kText).size() / 2);
    EXPECT_EQ(round_trip(**tokenizer, kText), kText);
    for (const std::string& text : test::random_texts(3, 500))
        EXPECT_EQ(round_trip(**tokenizer, text), text) << "seed 3";
    EXPECT_EQ(round_trip(**tokenizer, ""), "");
}

TEST(TokenizerJson, ReadsBothSpellingsOfMerges) {
    const json strings = trained({.num_merges = 40});
    const json lists = trained({.num_merges = 40, .pairs_as_lists = true});
    ASSERT_TRUE(strings["model"]["merges"][0].is_string());
    ASSERT_TRUE(lists["model"]["merges"][0].is_array());
    EXPECT_EQ(ids_of(**parse(strings), kText), ids_of(**parse(lists), kText));
}

TEST(TokenizerJson, ReplacesBytesThatAreNoUtf8) {
    const auto tokenizer = parse(trained());
    EXPECT_EQ(round_trip(**tokenizer, "the \xFF ring \xE6\x97"),
              "the \xEF\xBF\xBD ring \xEF\xBF\xBD");
}

// The full search and the heap give the same tokens for a repeated word of any length.
TEST(TokenizerJson, MergesLongWordsAsItDoesShortOnes) {
    const auto tokenizer = parse(trained());
    const std::vector<TokenId> one = ids_of(**tokenizer, "thering");
    for (std::size_t n = 2; n < 40; ++n) {
        std::string word;
        std::vector<TokenId> expected;
        for (std::size_t i = 0; i < n; ++i)
            word += "thering";
        const std::vector<TokenId> ids = ids_of(**tokenizer, word);
        // Inner repeats have the same neighbours, so they give the same tokens.
        EXPECT_EQ((ids.size() - one.size()) % (n - 1), 0u) << n;
        EXPECT_EQ(ids.size() / n, one.size()) << n;
        EXPECT_EQ(round_trip(**tokenizer, word), word);
    }
}

TEST(TokenizerJson, CutsOutAddedTokensLongestFirst) {
    json file = trained();
    const auto add = [&](int id, const char* content) {
        file["added_tokens"].push_back({{"id", id}, {"content", content}, {"special", true}});
    };
    add(300, "<|end");
    add(301, "<|end_of_text|>!");
    const auto tokenizer = parse(file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_THAT(
        ids_of(**tokenizer, "<|end_of_text|>!<|end_of_text|><|end_of"),
        testing::AllOf(testing::Contains(301), testing::Contains(297), testing::Contains(300)));
    EXPECT_EQ((*tokenizer)->vocabulary(), 302);
    EXPECT_EQ((*tokenizer)->decode(std::vector<TokenId>{297, 116}, SpecialTokens::skip).value(),
              "t");
}

TEST(TokenizerJson, GivesWhiteSpaceToATokenThatStripsIt) {
    json file = trained();
    file["added_tokens"].push_back({{"id", 300},
                                    {"content", "<mask>"},
                                    {"special", true},
                                    {"lstrip", true},
                                    {"rstrip", true}});
    const auto tokenizer = parse(file);
    EXPECT_EQ(round_trip(**tokenizer, "a \xE3\x80\x80<mask>\n <mask> b"), "a<mask><mask>b");
}

TEST(TokenizerJson, PutsTheTemplateAroundADocument) {
    const auto tokenizer = parse(trained({.num_merges = 40, .begin_of_text = true}));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_THAT((*tokenizer)->prefix(), ElementsAre(296));
    EXPECT_EQ((*tokenizer)->end_of_document(), 297);
    std::vector<TokenId> ids;
    const auto encoder = (*tokenizer)->make_encoder();
    ASSERT_TRUE(encode_document(**tokenizer, *encoder, "a", ids));
    EXPECT_THAT(ids, ElementsAre(296, 'a', 297));
}

TEST(TokenizerJson, AddsASpaceInFrontWhereTheFileSaysSo) {
    json file = trained({.cut = test::PreTokenizerCut::gpt2, .num_merges = 40});
    file["pre_tokenizer"]["add_prefix_space"] = true;
    const auto tokenizer = parse(file);
    EXPECT_EQ(round_trip(**tokenizer, "ring"), " ring");
    EXPECT_EQ(round_trip(**tokenizer, " ring"), " ring");
}

TEST(TokenizerJson, CutsDigitsOneByOne) {
    json file = trained({.cut = test::PreTokenizerCut::gpt2, .num_merges = 40});
    const json byte_level = file["pre_tokenizer"];
    const json digits = {{"type", "Digits"}, {"individual_digits", true}};
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {digits, byte_level}}};
    const auto tokenizer = parse(file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(ids_of(**tokenizer, "123").size(), 3u);
}

TEST(TokenizerJson, RefusesByNameWhatItWouldGetWrong) {
    const auto set = [](const char* path, const json& value) {
        return complaint([&](json& file) { file[json::json_pointer(path)] = value; });
    };
    EXPECT_THAT(set("/normalizer", {{"type", "NFC"}}), HasSubstr("t.json: normalizer: NFC is not"));
    EXPECT_THAT(set("/model/type", "Unigram"), HasSubstr("model: type Unigram is not supported"));
    EXPECT_THAT(set("/model/byte_fallback", true), HasSubstr("byte_fallback true is not"));
    EXPECT_THAT(set("/model/unk_token", "<unk>"), HasSubstr("unk_token \"<unk>\" is not"));
    EXPECT_THAT(set("/model/dropout", 0.1), HasSubstr("dropout 0.1 is not"));
    EXPECT_THAT(set("/model/continuing_subword_prefix", "##"), HasSubstr("continuing_subword"));
    EXPECT_THAT(set("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
    EXPECT_THAT(set("/model/surprise", 1), HasSubstr("the key 'surprise' is not supported"));
    EXPECT_THAT(set("/pre_tokenizer", {{"type", "Metaspace"}}), HasSubstr("Metaspace"));
    EXPECT_THAT(set("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer: null is not"));
    EXPECT_THAT(set("/pre_tokenizer/pretokenizers/0/behavior", "Removed"), HasSubstr("Removed"));
    EXPECT_THAT(set("/pre_tokenizer/pretokenizers/0/pattern/Regex", "a\\b"), HasSubstr("\\b"));
    EXPECT_THAT(set("/post_processor", {{"type", "BertProcessing"}}), HasSubstr("BertProcessing"));
    EXPECT_THAT(set("/decoder", {{"type", "WordPiece"}}), HasSubstr("decoder: WordPiece"));
    EXPECT_THAT(set("/added_tokens/0/single_word", true), HasSubstr("with single_word is not"));
}

TEST(TokenizerJson, SaysWhatIsWrongWithAVocabulary) {
    const auto vocab = [](const char* token, const json& id) {
        return complaint([&](json& file) { file["model"]["vocab"][token] = id; });
    };
    EXPECT_THAT(vocab("zzz", 5), HasSubstr("both have id 5"));
    EXPECT_THAT(vocab("zzz", -1), HasSubstr("token 'zzz' has id -1; ids are 0 to 2097151"));
    EXPECT_THAT(vocab("zzz", 1 << 30), HasSubstr("has id 1073741824"));
    EXPECT_THAT(vocab("zzz", 1.5), HasSubstr("'zzz' is 1.5, not a whole number"));
    EXPECT_THAT(complaint([](json& file) { file["model"]["vocab"].erase("a"); }),
                HasSubstr("'a' is not in the vocabulary"));
    EXPECT_THAT(complaint([](json& file) {
                    file["model"]["vocab"].erase("\xC4\x80");
                    file["model"]["vocab"]["zzz"] = 0;
                }),
                HasSubstr("no token '\xC4\x80' for byte 0"));
    EXPECT_THAT(complaint([](json& file) { file.erase("model"); }),
                HasSubstr("'model' is missing"));
}

TEST(TokenizerJson, AllowsHolesBetweenIds) {
    json file = trained();
    file["model"]["vocab"]["zzz"] = 1000;
    const auto tokenizer = parse(file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->vocabulary(), 1001);
    const auto hole = (*tokenizer)->decode(std::vector<TokenId>{999}, SpecialTokens::keep);
    ASSERT_FALSE(hole);
    EXPECT_THAT(hole.error().message, HasSubstr("token 999: tokenizer t.json has no such id"));
    EXPECT_FALSE((*tokenizer)->decode(std::vector<TokenId>{-1}, SpecialTokens::keep));
}

TEST(TokenizerJson, SaysWhichMergeIsWrong) {
    const auto merge = [](const json& value) {
        return complaint([&](json& file) { file["model"]["merges"][7] = value; });
    };
    EXPECT_THAT(merge("qq z"), HasSubstr("model: merges[7]: 'qq' is not in the vocabulary"));
    EXPECT_THAT(merge("q z"), HasSubstr("'qz' is not in the vocabulary"));
    EXPECT_THAT(merge("a b c"), HasSubstr("is \"a b c\", not \"left right\""));
    EXPECT_THAT(merge(json{"a", 1}), HasSubstr("merges[7]: is [\"a\",1]"));
    EXPECT_THAT(merge(3), HasSubstr("is 3, not"));
    EXPECT_THAT(complaint([](json& file) {
                    file["model"]["merges"].push_back(file["model"]["merges"][0]);
                }),
                HasSubstr("' appears twice"));
}

TEST(TokenizerJson, SaysWhichAddedTokenIsWrong) {
    const auto added = [](const json& token) {
        return complaint([&](json& file) { file["added_tokens"].push_back(token); });
    };
    EXPECT_THAT(added({{"id", 7}, {"content", "<x>"}}), HasSubstr("both have id 7"));
    EXPECT_THAT(added({{"id", 700}, {"content", "a"}}), HasSubstr("'a' has id 700, but"));
    EXPECT_THAT(added({{"id", 700}, {"content", ""}}), HasSubstr("content of 0 bytes"));
    EXPECT_THAT(added({{"id", -5}, {"content", "<x>"}}), HasSubstr("added_tokens: token '<x>'"));
}

TEST(TokenizerJson, RefusesJsonThatIsTornTwiceOrTooDeep) {
    const auto parsed = [](std::string text) {
        const auto tokenizer = parse_tokenizer({.name = "t.json", .tokenizer = std::move(text)});
        EXPECT_FALSE(tokenizer);
        return tokenizer ? "" : tokenizer.error().message;
    };
    EXPECT_THAT(parsed(""), HasSubstr("t.json: is not JSON"));
    EXPECT_THAT(parsed("{\"model\": {"), HasSubstr("not JSON: wrong at line 1"));
    EXPECT_THAT(parsed("{\"model\": {\"vocab\": {\"a\": 1, \"a\": 2}}}"),
                HasSubstr("holds the key 'a' twice"));
    EXPECT_THAT(parsed("{\"model\": \"\xFF\"}"), HasSubstr("not JSON"));
    EXPECT_NE(parsed(std::string(100'000, '[')), "");
    EXPECT_THAT(parsed(std::string(100, '[') + std::string(100, ']')),
                HasSubstr("nested deeper than 64"));
    EXPECT_FALSE(parse_tokenizer({.name = "t", .tokenizer = "[]"}));
}

TEST(EndOfDocument, ComesFromTheFilesBesideTheTokenizer) {
    const auto end = [](std::optional<std::string> config, std::optional<std::string> generation) {
        json file = trained();
        file["model"]["vocab"]["zzz"] = 1000;
        const auto tokenizer = parse_tokenizer({"t.json", file.dump(), config, generation});
        EXPECT_TRUE(tokenizer) << tokenizer.error().message;
        return (*tokenizer)->end_of_document();
    };
    EXPECT_EQ(end({}, {}), 297);  // <|end_of_text|> by its name
    EXPECT_EQ(end(R"({"eos_token": "zzz"})", R"({"eos_token_id": 296})"), 1000);
    EXPECT_EQ(end(R"({"eos_token": {"content": "zzz"}})", {}), 1000);
    EXPECT_EQ(end(R"({"eos_token": null})", R"({"eos_token_id": [296, 297]})"), 296);
    EXPECT_EQ(end({}, R"({"eos_token_id": 296})"), 296);
}

TEST(EndOfDocument, IsAnErrorWhenAFileNamesNoToken) {
    const auto complaint_of = [](TokenizerFiles files) {
        files.name = "t.json";
        files.tokenizer = trained().dump();
        return parse_tokenizer(files).error().message;
    };
    EXPECT_THAT(complaint_of({.tokenizer_config = R"({"eos_token": "<none>"})"}),
                HasSubstr("tokenizer_config.json: eos_token '<none>' is no token"));
    EXPECT_THAT(complaint_of({.generation_config = R"({"eos_token_id": 70000})"}),
                HasSubstr("generation_config.json: eos_token_id 70000 is no token"));
    json file = trained();
    file["added_tokens"] = json::array();
    const auto tokenizer = parse(file);
    const auto end = require_end_of_document(**tokenizer);
    ASSERT_FALSE(end);
    EXPECT_THAT(end.error().message, HasSubstr("tokenizer_config.json with \"eos_token\""));
}

TEST(OpenTokenizer, TakesAFileOrItsDirectoryOrBytes) {
    TempDir dir;
    dir.write("tokenizer.json", trained().dump());
    dir.write("tokenizer_config.json", R"({"eos_token": "<|begin_of_text|>"})");
    for (const std::string& path : {dir.path(), dir.file("tokenizer.json")}) {
        const auto tokenizer = open_tokenizer(path);
        ASSERT_TRUE(tokenizer) << tokenizer.error().message;
        EXPECT_EQ((*tokenizer)->end_of_document(), 296);
    }
    EXPECT_EQ((*open_tokenizer("bytes"))->vocabulary(), 257);
    const auto missing = open_tokenizer(dir.file("none"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

TEST(ByteTokenizer, IsTheBytesThemselves) {
    const ByteTokenizer tokenizer;
    const std::string text = "\xFF\x00 a\n";
    EXPECT_THAT(ids_of(tokenizer, "\xFF a"), ElementsAre(255, 32, 97));
    EXPECT_EQ(round_trip(tokenizer, text), text);
    EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{97, 256}, SpecialTokens::keep).value(), "a");
    EXPECT_FALSE(tokenizer.decode(std::vector<TokenId>{257}, SpecialTokens::keep));
}

}  // namespace
}  // namespace rm
