#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/tokenizer/tokenizer.h"

namespace rm {

// Tokens by id and ids by the bytes they stand for. Ids may have holes. A token spelled with
// letters outside the byte alphabet stands for its own spelling when decoded, and no text is ever
// encoded to it.
class TokenVocabulary {
public:
    // Ids lie in [0, kMaxIds): well above the largest vocabularies in use, small enough for a
    // table.
    static constexpr std::int64_t kMaxIds = std::int64_t{1} << 21;

    // Each fails with data_loss naming the token: an id out of range or of another token, a
    // spelling that has another id.
    Status add(std::string_view spelled, std::int64_t id);      // of the model
    Status add_raw(std::string_view content, std::int64_t id);  // outside the alphabet

    std::optional<TokenId> find_spelled(std::string_view spelled) const;
    std::optional<TokenId> find_bytes(std::string_view bytes) const;
    // Nothing for a hole or beyond the end.
    std::optional<std::string_view> bytes_of(TokenId id) const;
    std::string spelled(TokenId id) const;

    std::int64_t num_ids() const { return static_cast<std::int64_t>(tokens_.size()); }

private:
    struct Token {
        std::string bytes;
        bool used = false;
        bool reachable = false;  // in by_bytes_
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    using Ids = std::unordered_map<std::string, TokenId, Hash, std::equal_to<>>;
    Status take(std::string_view token, std::int64_t id, std::string bytes);

    std::vector<Token> tokens_;
    Ids by_bytes_;  // tokens spelled in the alphabet
    Ids raw_;       // the others, by spelling
};

}  // namespace rm
