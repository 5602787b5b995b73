#pragma once

#include <nlohmann/json_fwd.hpp>

#include <vector>

#include "base/result.h"
#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/bpe.h"

// The vocabulary of a tokenizer.json: its `model` and its `added_tokens`.
namespace rm {

// Sets as BpeParts::added wants them. Contents and ids are checked against the vocabulary, and what
// it does not have is added to it.
Result<std::vector<AddedTokens>> parse_added_tokens(const nlohmann::json& value,
                                                    Vocabulary& vocabulary);
Result<Vocabulary> parse_vocabulary(const nlohmann::json& model);
Result<Bpe> parse_bpe(const nlohmann::json& model, Vocabulary vocabulary);

}  // namespace rm
