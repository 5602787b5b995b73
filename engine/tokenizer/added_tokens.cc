#include "engine/tokenizer/added_tokens.h"

#include <algorithm>

#include "engine/tokenizer/utf8.h"

namespace rm {
namespace {

std::size_t before_white_space(std::string_view text, std::size_t end, std::size_t limit) {
    while (end > limit) {
        const CodePoint last = code_point_before(text, end);
        if (!is_white_space(last.value)) break;
        end -= last.bytes;
    }
    return std::max(end, limit);
}

std::size_t after_white_space(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        const CodePoint next = code_point_at(text, at);
        if (!is_white_space(next.value)) break;
        at += next.bytes;
    }
    return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(),
              [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
    for (const AddedToken& token : tokens_)
        begins_[static_cast<unsigned char>(token.content.front())] = true;
}

// Narrows the sorted tokens, byte by byte, to those that match the text; the last token to match
// completely is the longest.
const AddedToken* AddedTokens::longest_at(std::string_view text, std::size_t at) const {
    const AddedToken* longest = nullptr;
    auto first = tokens_.begin();
    auto last = tokens_.end();
    for (std::size_t depth = 0; first != last; ++depth) {
        if (first->content.size() == depth) {
            longest = &*first++;
        }
        if (at + depth == text.size()) break;
        const auto byte = static_cast<unsigned char>(text[at + depth]);
        const auto letter = [depth](const AddedToken& token) {
            return static_cast<unsigned char>(token.content[depth]);
        };
        first = std::lower_bound(first, last, byte, [&](const AddedToken& token, unsigned char b) {
            return letter(token) < b;
        });
        last = std::upper_bound(first, last, byte, [&](unsigned char b, const AddedToken& token) {
            return b < letter(token);
        });
    }
    return longest;
}

std::optional<AddedTokens::Found> AddedTokens::find(std::string_view text, std::size_t from) const {
    for (std::size_t at = from; at < text.size(); ++at) {
        if (!begins_[static_cast<unsigned char>(text[at])]) continue;
        const AddedToken* token = longest_at(text, at);
        if (token == nullptr) continue;
        const std::size_t end = at + token->content.size();
        return Found{token->lstrip ? before_white_space(text, at, from) : at,
                     token->rstrip ? after_white_space(text, end) : end, token->id};
    }
    return std::nullopt;
}

}  // namespace rm
