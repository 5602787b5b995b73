#include "engine/generate/continuation.h"

#include "engine/tokenizer/utf8.h"

namespace rm {

Result<std::vector<TokenId>> prompt_tokens(const std::string& text, const Tokenizer& tokenizer) {
    const std::span<const TokenId> prefix = tokenizer.prefix();
    std::vector<TokenId> tokens(prefix.begin(), prefix.end());
    RM_RETURN_IF_ERROR(tokenizer.make_encoder()->encode(text, tokens));
    if (!tokens.empty()) return tokens;
    return invalid_argument("the prompt is empty: the model needs a token to begin with");
}

std::vector<TokenId> continue_prompt(Generator& generator, std::span<const TokenId> prompt,
                                     const ContinuationLimits& limits, TokenSampler& sampler,
                                     const TokenWatcher& watch) {
    std::vector<TokenId> tokens;
    generator.begin(prompt);
    TokenId latest = prompt.back();
    while (std::ssize(tokens) < limits.most_tokens) {
        latest = generator.agree(sampler.choose(generator.next(latest)));
        if (limits.end && latest == *limits.end) break;
        tokens.push_back(latest);
        if (watch && !watch(latest)) break;
    }
    return tokens;
}

// Tokenizers may change the text of the first token that they decode, so some tokens before the
// newest are decoded with it; not all, which would take longer with every token.
Result<std::string> StreamedText::add(TokenId token) {
    constexpr std::ptrdiff_t kMost = 64, kKept = 8;  // tokens
    window_.push_back(token);
    RM_TRY(const std::string decoded, tokenizer_.decode(window_, SpecialTokens::skip));
    if (decoded.size() > shown_) held_ += decoded.substr(shown_);
    shown_ = decoded.size();
    if (std::ssize(window_) == kMost) {
        window_.erase(window_.begin(), window_.end() - kKept);
        RM_TRY(const std::string kept, tokenizer_.decode(window_, SpecialTokens::skip));
        shown_ = kept.size();
    }
    const std::size_t complete = held_.size() - incomplete_utf8_bytes(held_);
    const std::string added = held_.substr(0, complete);
    held_.erase(0, complete);
    text_ += added;
    return added;
}

std::string StreamedText::finish() {
    text_ += held_;
    return std::exchange(held_, {});
}

}  // namespace rm
