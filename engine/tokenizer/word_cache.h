#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/tokenizer/tokenizer.h"

namespace rm {

// Words and their tokens as last encoded: natural text repeats its words. 4 MiB, whatever is put
// in: a word has one place, where it replaces the one before it; long ones are not kept.
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

}  // namespace rm
