#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/generate/generator.h"
#include "engine/generate/token_sampler.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// A prompt's tokens, behind those with which the tokenizer begins a text. invalid_argument: none.
Result<std::vector<TokenId>> prompt_tokens(const std::string& text, const Tokenizer& tokenizer);

struct ContinuationLimits {
    std::int64_t most_tokens = 0;     // at most what the stage has room for
    std::optional<TokenId> end = {};  // the token that ends it, which is not returned
};
// Called with each token; false ends the continuation. Ranks must agree on it.
using TokenWatcher = std::function<bool(TokenId)>;

// Continues a prompt. Collective: every rank gets the same tokens.
std::vector<TokenId> continue_prompt(Generator& generator, std::span<const TokenId> prompt,
                                     const ContinuationLimits& limits, TokenSampler& sampler,
                                     const TokenWatcher& watch = {});

// Makes text of tokens as they come: holds back bytes of a character that is not complete.
class StreamedText {
public:
    explicit StreamedText(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
    // The text that the token adds; out_of_range for an id that is no token.
    Result<std::string> add(TokenId token);
    // The rest, even if it ends within a character.
    std::string finish();
    // All up to now.
    const std::string& text() const { return text_; }

private:
    const Tokenizer& tokenizer_;
    std::vector<TokenId> window_;  // the newest
    std::size_t shown_ = 0;        // bytes of their text that have been taken
    std::string text_;
    std::string held_;
};

}  // namespace rm
