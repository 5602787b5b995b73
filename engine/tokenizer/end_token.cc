#include "engine/tokenizer/end_token.h"

#include <array>

#include "engine/data/json_fields.h"
#include "engine/data/strict_json.h"
#include "engine/tokenizer/json_keys.h"

namespace rm {
namespace {

using nlohmann::json;
using Found = std::optional<TokenId>;

constexpr std::array<std::string_view, 3> kUsualNames = {"<|end_of_text|>", "<|endoftext|>",
                                                         "</s>"};

// "</s>" or {"content": "</s>", ...}.
Result<Found> from_tokenizer_config(std::string_view text, const Vocabulary& vocabulary) {
    RM_TRY(const json config, parse_strict_json(text, kMostTokenizerBytes));
    const json* value = find_value(config, "eos_token");
    if (value == nullptr) return Found();
    RM_TRY(const std::string content,
           value->is_object() ? string_at(*value, "content") : string_at(config, "eos_token"));
    if (const auto id = vocabulary.find_spelled(content)) return Found(*id);
    return data_loss("eos_token {} is no token of tokenizer.json", shown_token(content));
}

Result<Found> from_generation_config(std::string_view text, const Vocabulary& vocabulary) {
    RM_TRY(const json config, parse_strict_json(text, kMostTokenizerBytes));
    const json* value = find_value(config, "eos_token_id");
    if (value == nullptr || (value->is_array() && value->empty())) return Found();
    const json first = {{"eos_token_id", value->is_array() ? value->front() : *value}};
    RM_TRY(const std::int64_t id, integer_at(first, "eos_token_id"));
    if (id >= 0 && id < vocabulary.num_ids() && vocabulary.bytes_of(static_cast<TokenId>(id))) {
        return Found(static_cast<TokenId>(id));
    }
    return data_loss("eos_token_id {} is no token of tokenizer.json", id);
}

Found by_usual_name(const std::vector<AddedTokens>& added) {
    for (const std::string_view name : kUsualNames) {
        for (const AddedTokens& set : added) {
            for (const AddedToken& token : set.tokens()) {
                if (token.content == name) return token.id;
            }
        }
    }
    return std::nullopt;
}

}  // namespace

Result<Found> find_end_token(const TokenizerFiles& files, const std::vector<AddedTokens>& added,
                             const Vocabulary& vocabulary) {
    if (files.tokenizer_config) {
        RM_TRY(const Found found,
               within("tokenizer_config.json",
                      from_tokenizer_config(*files.tokenizer_config, vocabulary)));
        if (found) return found;
    }
    if (files.generation_config) {
        RM_TRY(const Found found,
               within("generation_config.json",
                      from_generation_config(*files.generation_config, vocabulary)));
        if (found) return found;
    }
    return by_usual_name(added);
}

}  // namespace rm
