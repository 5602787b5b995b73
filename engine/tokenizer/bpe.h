#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/tokenizer/vocabulary.h"

namespace rm {

// The token that two neighbours merge into, and its rank: lower ranks merge first.
struct Merge {
    std::int32_t rank = 0;
    TokenId result = 0;
};

// Merges by the pair of ids they join: open addressing, one cache line per look-up.
class MergeTable {
public:
    explicit MergeTable(std::size_t num_merges);
    // False when the pair is there already.
    bool add(TokenId left, TokenId right, Merge merge);
    const Merge* find(TokenId left, TokenId right) const {
        const std::uint64_t key = key_of(left, right);
        for (std::size_t at = start_of(key);; ++at) {
            const Slot& slot = slots_[at & mask_];
            if (slot.key == key) return &slot.merge;
            if (slot.key == kEmpty) return nullptr;
        }
    }

private:
    struct Slot {
        std::uint64_t key;
        Merge merge;
    };
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // ids are never negative
    static std::uint64_t key_of(TokenId left, TokenId right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
               static_cast<std::uint32_t>(right);
    }
    static std::size_t start_of(std::uint64_t key) {
        return usize((key * 0x9E3779B97F4A7C15ULL) >> 32);
    }

    std::vector<Slot> slots_;
    std::size_t mask_;
};

enum class WholeWords { merge, look_up };  // look_up: tokenizer.json's ignore_merges

// Byte pair encoding (Sennrich et al., 2016) over bytes: a word starts as its bytes, then the
// neighbours with the lowest rank merge, leftmost first, until no pair can.
class Bpe {
public:
    // data_loss when a byte has no token of its own: text would be lost.
    static Result<Bpe> make(TokenVocabulary vocabulary, MergeTable merges, WholeWords whole_words);

    // Appends the tokens of a word. Scratch belongs to one thread.
    struct Scratch {
        std::vector<TokenId> ids;
        std::vector<std::int32_t> ranks;
        std::vector<std::int32_t> previous, next;
        std::vector<std::uint64_t> heap;
    };
    void encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const;

    const TokenVocabulary& vocabulary() const { return vocabulary_; }

private:
    Bpe(TokenVocabulary vocabulary, MergeTable merges, WholeWords whole_words,
        const std::array<TokenId, 256>& byte_ids)
        : vocabulary_(std::move(vocabulary)),
          merges_(std::move(merges)),
          whole_words_(whole_words),
          byte_ids_(byte_ids) {}
    void encode_short(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const;
    void encode_long(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const;
    std::int32_t rank_of(TokenId left, TokenId right) const;

    TokenVocabulary vocabulary_;
    MergeTable merges_;
    WholeWords whole_words_;
    std::array<TokenId, 256> byte_ids_;
};

}  // namespace rm
