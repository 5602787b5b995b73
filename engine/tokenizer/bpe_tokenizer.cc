#include "engine/tokenizer/bpe_tokenizer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/tokenizer/utf8.h"

namespace rm {
namespace {

// Caches the tokens of recent words, since natural text repeats its words. Always 4 MiB: a word
// has one slot and overwrites the previous word there; long words are not cached.
class WordCache {
public:
    WordCache() : slots_(kNumSlots) {}

    // Empty when the word is not there; else valid until the next put().
    std::span<const TokenId> find(std::string_view word) const;
    void put(std::string_view word, std::span<const TokenId> ids);

private:
    static constexpr std::size_t kNumSlots = std::size_t{1} << 16;
    struct alignas(64) Slot {
        std::uint8_t num_bytes = 0;  // 0: nothing here
        std::uint8_t num_ids = 0;
        std::array<char, 22> word;
        std::array<TokenId, 10> ids;
    };
    static_assert(sizeof(Slot) == 64, "one cache line per look-up");
    static std::size_t place_of(std::string_view word);

    std::vector<Slot> slots_;
};

std::size_t WordCache::place_of(std::string_view word) {
    return XXH3_64bits(word.data(), word.size()) % kNumSlots;
}

std::span<const TokenId> WordCache::find(std::string_view word) const {
    const Slot& slot = slots_[place_of(word)];
    if (slot.num_bytes != word.size() ||
        std::memcmp(slot.word.data(), word.data(), word.size()) != 0) {
        return {};
    }
    return std::span(slot.ids).first(slot.num_ids);
}

void WordCache::put(std::string_view word, std::span<const TokenId> ids) {
    if (word.empty() || word.size() > Slot().word.size() || ids.size() > Slot().ids.size()) return;
    Slot& slot = slots_[place_of(word)];
    slot.num_bytes = static_cast<std::uint8_t>(word.size());
    slot.num_ids = static_cast<std::uint8_t>(ids.size());
    std::copy(word.begin(), word.end(), slot.word.begin());
    std::copy(ids.begin(), ids.end(), slot.ids.begin());
}

class BpeEncoder : public Encoder {
public:
    explicit BpeEncoder(const BpeParts& parts) : parts_(parts), cutter_(parts.pre_tokenizer) {}

    Status encode(std::string_view text, std::vector<TokenId>& ids) override {
        constexpr std::size_t kMostBytes = std::size_t{1} << 31;
        if (text.size() >= kMostBytes) {
            return make_error(ErrorCode::resource_exhausted,
                              "a text of {} bytes; one document may have less than {}", text.size(),
                              kMostBytes);
        }
        ids_ = &ids;
        if (find_invalid_utf8(text) == text.size()) return encode_between(text, 0);
        return encode_between(replace_invalid_utf8(text), 0);
    }

private:
    // `text` without the added tokens of the sets before `set`.
    Status encode_between(std::string_view text, std::size_t set) {
        if (set == parts_.added.size()) {
            return cutter_.cut(text, [this](std::string_view word) { encode_word(word); });
        }
        std::size_t done = 0;
        while (const auto found = parts_.added[set].find(text, done)) {
            RM_RETURN_IF_ERROR(encode_between(text.substr(done, found->begin - done), set + 1));
            ids_->push_back(found->id);
            done = found->end;
        }
        return encode_between(text.substr(done), set + 1);
    }

    void encode_word(std::string_view word) {
        const auto known = cache_.find(word);
        if (!known.empty()) {
            ids_->insert(ids_->end(), known.begin(), known.end());
            return;
        }
        const std::size_t first = ids_->size();
        parts_.bpe.encode(word, scratch_, *ids_);
        cache_.put(word, std::span(*ids_).subspan(first));
    }

    const BpeParts& parts_;
    PieceCutter cutter_;
    WordCache cache_;
    Bpe::Scratch scratch_;
    std::vector<TokenId>* ids_ = nullptr;  // of the call in progress
};

}  // namespace

BpeTokenizer::BpeTokenizer(Names names, BpeParts parts, std::optional<TokenId> end_of_document)
    : names_(std::move(names)), parts_(std::move(parts)), end_of_document_(end_of_document) {
    for (const AddedTokens& added : parts_.added) {
        for (const AddedToken& token : added.tokens()) {
            if (token.special) special_.insert(token.id);
        }
    }
}

std::unique_ptr<Encoder> BpeTokenizer::make_encoder() const {
    return std::make_unique<BpeEncoder>(parts_);
}

Result<std::string> BpeTokenizer::decode(std::span<const TokenId> ids,
                                         SpecialTokens special) const {
    std::string text;
    for (const TokenId id : ids) {
        const auto bytes = parts_.bpe.vocabulary().bytes_of(id);
        if (!bytes) {
            return make_error(ErrorCode::out_of_range,
                              "token {}: tokenizer {} has no such id (its vocabulary is {})", id,
                              names_.name, vocabulary());
        }
        if (special == SpecialTokens::keep || !special_.contains(id)) text += *bytes;
    }
    return text;
}

}  // namespace rm
