#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer/tokenizer.h"

namespace rm {

// A token that stands in a text by its own spelling and never takes part in merges.
struct AddedToken {
    std::string content;
    TokenId id = 0;
    bool special = false;
    bool lstrip = false;  // takes the white space before it with it
    bool rstrip = false;  // ... after it
};

// Finds added tokens in a text: leftmost, and the longest of those that begin there.
class AddedTokens {
public:
    explicit AddedTokens(std::vector<AddedToken> tokens);

    struct Found {
        std::size_t begin = 0;  // white space that goes with it included
        std::size_t end = 0;
        TokenId id = 0;
    };
    // At or after `from`, before which text is taken already.
    std::optional<Found> find(std::string_view text, std::size_t from) const;

    const std::vector<AddedToken>& tokens() const { return tokens_; }

private:
    const AddedToken* longest_at(std::string_view text, std::size_t at) const;

    std::vector<AddedToken> tokens_;  // in the byte order of their contents
    std::array<bool, 256> begins_{};
};

}  // namespace rm
