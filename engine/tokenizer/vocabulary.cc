#include "engine/tokenizer/vocabulary.h"

#include "engine/tokenizer/json_keys.h"
#include "engine/tokenizer/utf8.h"

namespace rm {
namespace {

std::optional<TokenId> look_up(const auto& ids, std::string_view key) {
    const auto found = ids.find(key);
    if (found == ids.end()) return std::nullopt;
    return found->second;
}

}  // namespace

Status TokenVocabulary::take(std::string_view token, std::int64_t id, std::string bytes) {
    if (id < 0 || id >= kMaxIds) {
        return data_loss("token {} has id {}; ids are 0 to {}", shown_token(token), id,
                         kMaxIds - 1);
    }
    const auto place = usize(id);
    if (place >= tokens_.size()) tokens_.resize(place + 1);
    if (tokens_[place].used) {
        return data_loss("tokens {} and {} both have id {}",
                         shown_token(spelled(static_cast<TokenId>(id))), shown_token(token), id);
    }
    tokens_[place] = {std::move(bytes), true, false};
    return {};
}

Status TokenVocabulary::add(std::string_view spelled_token, std::int64_t id) {
    std::optional<std::string> bytes = unspell_bytes(spelled_token);
    if (!bytes || bytes->empty()) return add_raw(spelled_token, id);
    RM_RETURN_IF_ERROR(take(spelled_token, id, *bytes));
    tokens_[usize(id)].reachable = true;
    const auto [at, is_new] = by_bytes_.emplace(std::move(*bytes), static_cast<TokenId>(id));
    if (is_new) return {};
    return data_loss("token {} has ids {} and {}", shown_token(spelled_token), at->second, id);
}

Status TokenVocabulary::add_raw(std::string_view content, std::int64_t id) {
    if (content.empty()) return data_loss("token {} is empty", id);
    RM_RETURN_IF_ERROR(take(content, id, std::string(content)));
    const auto [at, is_new] = raw_.emplace(content, static_cast<TokenId>(id));
    if (is_new) return {};
    return data_loss("token {} has ids {} and {}", shown_token(content), at->second, id);
}

std::optional<TokenId> TokenVocabulary::find_spelled(std::string_view spelled_token) const {
    if (const auto raw = look_up(raw_, spelled_token)) return raw;
    const auto bytes = unspell_bytes(spelled_token);
    return bytes ? find_bytes(*bytes) : std::nullopt;
}

std::optional<TokenId> TokenVocabulary::find_bytes(std::string_view bytes) const {
    return look_up(by_bytes_, bytes);
}

std::optional<std::string_view> TokenVocabulary::bytes_of(TokenId id) const {
    if (id < 0 || id >= num_ids()) return std::nullopt;
    const Token& token = tokens_[usize(id)];
    return token.used ? std::optional<std::string_view>(token.bytes) : std::nullopt;
}

std::string TokenVocabulary::spelled(TokenId id) const {
    const Token& token = tokens_[usize(id)];
    return token.reachable ? spell_bytes(token.bytes) : token.bytes;
}

}  // namespace rm
