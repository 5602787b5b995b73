#pragma once

#include <optional>

#include "base/result.h"
#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/tokenizer_json.h"
#include "engine/tokenizer/vocabulary.h"

namespace rm {

// The token that ends a text: `eos_token` of tokenizer_config.json, else the (first)
// `eos_token_id` of generation_config.json, else an added token named <|end_of_text|>,
// <|endoftext|> or </s>, else nothing. data_loss when a file names a token that does not exist.
Result<std::optional<TokenId>> find_end_token(const TokenizerFiles& files,
                                              const std::vector<AddedTokens>& added,
                                              const Vocabulary& vocabulary);

}  // namespace rm
