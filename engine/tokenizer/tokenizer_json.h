#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/tokenizer/bpe_tokenizer.h"

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
// as docs/formats/tokenizer.md has it. The message names key, value and what would be right.
Result<std::unique_ptr<BpeTokenizer>> parse_tokenizer(const TokenizerFiles& files);

// A tokenizer.json, or a directory that holds one, and the files beside it.
Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const std::string& path);

}  // namespace rm
