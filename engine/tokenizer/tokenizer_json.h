#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/tokenizer/added_tokens.h"
#include "engine/tokenizer/bpe.h"
#include "engine/tokenizer/bpe_tokenizer.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/vocabulary.h"

namespace rm {

// The limit for each file, well above those in use.
constexpr std::size_t kMostTokenizerBytes = std::size_t{64} << 20;

// The files that describe one tokenizer, as text. The last two say which token ends a text.
struct TokenizerFiles {
    std::string name;  // for messages
    std::string tokenizer;
    std::optional<std::string> tokenizer_config;
    std::optional<std::string> generation_config;
};

// data_loss: a file that contradicts itself; unimplemented: a pipeline that is not byte-level BPE
// as docs/formats/tokenizer.md defines it. The message names key, value and what would be right.
Result<std::unique_ptr<BpeTokenizer>> parse_tokenizer(const TokenizerFiles& files);

// A tokenizer.json, or a directory that holds one, and the files beside it.
Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const std::string& path);

// The token that ends a text: `eos_token` of tokenizer_config.json, else the (first)
// `eos_token_id` of generation_config.json, else an added token named <|end_of_text|>,
// <|endoftext|> or </s>, else nothing. data_loss when a file names a token that does not exist.
Result<std::optional<TokenId>> find_end_token(const TokenizerFiles& files,
                                              const std::vector<AddedTokens>& added,
                                              const TokenVocabulary& vocabulary);

// The vocabulary of a tokenizer.json: its `model` and its `added_tokens`.

// Returns the sets for BpeParts::added. Checks contents and ids against the vocabulary and adds the
// missing ones to it.
Result<std::vector<AddedTokens>> parse_added_tokens(const nlohmann::json& value,
                                                    TokenVocabulary& vocabulary);
Result<TokenVocabulary> parse_vocabulary(const nlohmann::json& model);
Result<Bpe> parse_bpe(const nlohmann::json& model, TokenVocabulary vocabulary);

// A tokenizer.json's steps around its model. Each function reads one top-level value (null where
// the key is missing); a step that would give other tokens is unimplemented, by name.

Status check_normalizer(const nlohmann::json& value);
Status check_decoder(const nlohmann::json& value);
Result<PreTokenizer> parse_pre_tokenizer(const nlohmann::json& value);

struct Template {
    std::vector<TokenId> prefix;
    std::vector<TokenId> suffix;
};
Result<Template> parse_post_processor(const nlohmann::json& value,
                                      const TokenVocabulary& vocabulary);

}  // namespace rm
