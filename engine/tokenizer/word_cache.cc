#include "engine/tokenizer/word_cache.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rm {

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

}  // namespace rm
