#pragma once

#include <nlohmann/json_fwd.hpp>

#include <vector>

#include "base/result.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/vocabulary.h"

// A tokenizer.json's steps around its model. Each function reads one top-level value (null where
// the key is missing); what would be tokenised differently is unimplemented, by name.
namespace rm {

Status check_normalizer(const nlohmann::json& value);
Status check_decoder(const nlohmann::json& value);
Result<PreTokenizer> parse_pre_tokenizer(const nlohmann::json& value);

struct Template {
    std::vector<TokenId> prefix;
    std::vector<TokenId> suffix;
};
Result<Template> parse_post_processor(const nlohmann::json& value, const Vocabulary& vocabulary);

}  // namespace rm
