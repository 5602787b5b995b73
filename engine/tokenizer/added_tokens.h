#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/tokenizer.h"

namespace rm {

// A token that text spells literally and that never takes part in merges.
struct AddedToken {
    std::string content;
    TokenId id = 0;
    bool special = false;
    bool lstrip = false;  // absorbs the white space before it
    bool rstrip = false;  // absorbs the white space after it
};

// Finds added tokens in a text: leftmost, and the longest of those that begin there.
class AddedTokens {
public:
    explicit AddedTokens(std::vector<AddedToken> tokens);

    struct Found {
        std::size_t begin = 0;  // includes the white space it absorbs
        std::size_t end = 0;
        TokenId id = 0;
    };
    // Searches at or after `from`; text before it is already consumed.
    std::optional<Found> find(std::string_view text, std::size_t from) const;

    const std::vector<AddedToken>& tokens() const { return tokens_; }

private:
    const AddedToken* longest_at(std::string_view text, std::size_t at) const;

    std::vector<AddedToken> tokens_;  // in the byte order of their contents
    std::array<bool, 256> begins_{};
};

}  // namespace rm
