#include <algorithm>

#include "engine/json/json_object.h"
#include "engine/tokenizer/json_keys.h"
#include "engine/tokenizer/tokenizer_json.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytesOfToken = 4096;

// Refuses BPE features that are not supported: their keys must be absent, null, "", false or 0.
Status check_plain_bpe(const json& model) {
    RM_RETURN_IF_ERROR(only_keys(
        model, {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"}));
    if (const json* type = find_value(model, "type"); type != nullptr && *type != "BPE") {
        RM_TRY(const std::string name, json_at<std::string>(model, "type"));
        return unsupported(format("type {}", name), "BPE");
    }
    for (const char* key : {"dropout", "unk_token", "continuing_subword_prefix",
                            "end_of_word_suffix", "byte_fallback"}) {
        const json* value = find_value(model, key);
        const bool off = value == nullptr || *value == "" || *value == false || *value == 0.0;
        if (!off) return unsupported(format("{} {}", key, excerpt(*value)), "none (null)");
    }
    return {};
}

struct Pair {
    std::string left, right;
};

// "a b" or ["a", "b"].
Result<Pair> parse_pair(const json& value) {
    if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
        return Pair{value[0].get<std::string>(), value[1].get<std::string>()};
    }
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        const std::size_t space = text.find(' ');
        if (space != std::string::npos && space == text.rfind(' ')) {
            return Pair{text.substr(0, space), text.substr(space + 1)};
        }
    }
    return data_loss("is {}, not \"left right\" or [\"left\", \"right\"]", excerpt(value));
}

Result<TokenId> known_token(const TokenVocabulary& vocabulary, const std::string& spelled) {
    if (const auto id = vocabulary.find_spelled(spelled)) return *id;
    return data_loss("{} is not in the vocabulary", shown_token(spelled));
}

Status add_merge(const json& value, std::int32_t rank, const TokenVocabulary& vocabulary,
                 MergeTable& merges) {
    RM_TRY(const Pair pair, parse_pair(value));
    if (pair.left.empty() || pair.right.empty()) {
        return data_loss("joins an empty token");
    }
    RM_TRY(const TokenId left, known_token(vocabulary, pair.left));
    RM_TRY(const TokenId right, known_token(vocabulary, pair.right));
    RM_TRY(const TokenId result, known_token(vocabulary, pair.left + pair.right));
    if (merges.add(left, right, {rank, result})) return {};
    return data_loss("{} appears twice", shown_token(pair.left + " " + pair.right));
}

struct ParsedAddedToken {
    AddedToken token;
    bool normalized = false;
};

Result<ParsedAddedToken> parse_added_token(const json& value) {
    RM_RETURN_IF_ERROR(only_keys(
        value, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}));
    ParsedAddedToken parsed;
    AddedToken& token = parsed.token;
    std::int64_t id = 0;
    bool single_word = false;
    JsonObject object = JsonObject::of_file(value);
    object.require("content", token.content)
        .require("id", id)
        .read("special", token.special)
        .read("lstrip", token.lstrip)
        .read("rstrip", token.rstrip)
        .read("single_word", single_word);
    parsed.normalized = !token.special;
    RM_RETURN_IF_ERROR(object.read("normalized", parsed.normalized).status());
    token.id = static_cast<TokenId>(std::clamp<std::int64_t>(id, -1, TokenVocabulary::kMaxIds));
    if (single_word)
        return unsupported(format("{} with single_word", shown_token(token.content)), "false");
    if (token.content.empty() || token.content.size() > kMostBytesOfToken) {
        return data_loss("token {} has a content of {} bytes, not 1 to {}", id,
                         token.content.size(), kMostBytesOfToken);
    }
    return parsed;
}

Status settle_id(const AddedToken& token, TokenVocabulary& vocabulary) {
    const auto known = vocabulary.find_spelled(token.content);
    if (!known) return vocabulary.add_raw(token.content, token.id);
    if (*known == token.id) return {};
    return data_loss("{} has id {}, but {} in the vocabulary", shown_token(token.content), token.id,
                     *known);
}

}  // namespace

Result<TokenVocabulary> parse_vocabulary(const json& model) {
    RM_RETURN_IF_ERROR(check_plain_bpe(model));
    RM_TRY(const json* vocab, field_at(model, "vocab"));
    if (!vocab->is_object()) {
        return data_loss("'vocab' is {}, not an object of token: id", vocab->type_name());
    }
    TokenVocabulary vocabulary;
    for (const auto& [token, value] : vocab->items()) {
        if (token.empty() || token.size() > kMostBytesOfToken) {
            return data_loss("vocab has a token of {} bytes, not 1 to {}", token.size(),
                             kMostBytesOfToken);
        }
        RM_TRY(const std::int64_t id, json_at<std::int64_t>(*vocab, token));
        RM_RETURN_IF_ERROR(vocabulary.add(token, id));
    }
    return vocabulary;
}

Result<Bpe> parse_bpe(const json& model, TokenVocabulary vocabulary) {
    RM_TRY(const json* list, list_at(model, "merges"));
    bool ignore_merges = false;
    RM_RETURN_IF_ERROR(JsonObject::of_file(model).read("ignore_merges", ignore_merges).status());
    MergeTable merges(list->size());
    std::int32_t rank = 0;
    for (const json& value : *list) {
        if (const Status added = add_merge(value, rank, vocabulary, merges); !added) {
            return within(format("merges[{}]", rank), added.error());
        }
        ++rank;
    }
    return Bpe::make(std::move(vocabulary), std::move(merges),
                     ignore_merges ? WholeWords::look_up : WholeWords::merge);
}

Result<std::vector<AddedTokens>> parse_added_tokens(const json& value,
                                                    TokenVocabulary& vocabulary) {
    std::vector<AddedToken> as_written;
    std::vector<AddedToken> normalized;
    if (!value.is_null() && !value.is_array()) {
        return data_loss("is {}, not a list", value.type_name());
    }
    for (const json& item : value) {
        RM_TRY(ParsedAddedToken parsed, parse_added_token(item));
        RM_RETURN_IF_ERROR(settle_id(parsed.token, vocabulary));
        (parsed.normalized ? normalized : as_written).push_back(std::move(parsed.token));
    }
    std::vector<AddedTokens> sets;
    if (!as_written.empty()) sets.emplace_back(std::move(as_written));
    if (!normalized.empty()) sets.emplace_back(std::move(normalized));
    return sets;
}

}  // namespace rm
