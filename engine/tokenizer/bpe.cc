#include "engine/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/tokenizer/json_keys.h"
#include "engine/tokenizer/utf8.h"

namespace rm {
namespace {

constexpr std::int32_t kNoMerge = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kNone = -1;
// Up to this length, a linear search for the lowest rank is faster than a heap.
constexpr std::size_t kShortWord = 64;

std::uint64_t queued(std::int32_t rank, std::int32_t place) {
    return std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 |
           static_cast<std::uint32_t>(place);
}

// Merges scratch.ids as a list of the tokens left, with a heap of (rank, place of the left token).
class LongWord {
public:
    LongWord(Bpe::Scratch& scratch, const MergeTable& merges) : s_(scratch), merges_(merges) {
        const std::size_t size = s_.ids.size();
        s_.previous.resize(size);
        s_.next.resize(size);
        s_.heap.clear();
        for (std::size_t i = 0; i < size; ++i) {
            s_.previous[i] = static_cast<std::int32_t>(i) - 1;
            s_.next[i] = i + 1 < size ? static_cast<std::int32_t>(i) + 1 : kNone;
        }
        for (std::size_t i = 0; i < size; ++i)
            push(i);
    }

    void merge(std::vector<TokenId>& out) {
        while (!s_.heap.empty())
            merge_lowest();
        for (std::int32_t place = 0; place != kNone; place = s_.next[index(place)])
            out.push_back(s_.ids[index(place)]);
    }

private:
    static std::size_t index(std::int32_t place) { return usize(place); }

    void push(std::size_t i) {
        if (s_.next[i] == kNone) return;
        const Merge* merge = merges_.find(s_.ids[i], s_.ids[index(s_.next[i])]);
        if (merge == nullptr) return;
        s_.heap.push_back(queued(merge->rank, static_cast<std::int32_t>(i)));
        std::push_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
    }

    // A stale entry shows by its rank: once a token has merged, its pair has another rank or the
    // token is gone.
    void merge_lowest() {
        std::pop_heap(s_.heap.begin(), s_.heap.end(), std::greater<>());
        const std::uint64_t entry = s_.heap.back();
        s_.heap.pop_back();
        const std::size_t i = entry & 0xFFFFFFFF;
        if (s_.ids[i] == kNone || s_.next[i] == kNone) return;
        const std::size_t right = index(s_.next[i]);
        const Merge* merge = merges_.find(s_.ids[i], s_.ids[right]);
        if (merge == nullptr || merge->rank != static_cast<std::int32_t>(entry >> 32)) return;
        s_.ids[i] = merge->result;
        s_.ids[right] = kNone;
        s_.next[i] = s_.next[right];
        if (s_.next[i] != kNone) s_.previous[index(s_.next[i])] = static_cast<std::int32_t>(i);
        push(i);
        if (s_.previous[i] != kNone) push(index(s_.previous[i]));
    }

    Bpe::Scratch& s_;
    const MergeTable& merges_;
};

}  // namespace

MergeTable::MergeTable(std::size_t num_merges)
    : slots_(std::bit_ceil(std::max<std::size_t>(16, 2 * num_merges)), Slot{kEmpty, {}}),
      mask_(slots_.size() - 1) {}

bool MergeTable::add(TokenId left, TokenId right, Merge merge) {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = start_of(key);; ++at) {
        Slot& slot = slots_[at & mask_];
        if (slot.key == key) return false;
        if (slot.key != kEmpty) continue;
        slot = {key, merge};
        return true;
    }
}

Result<Bpe> Bpe::make(TokenVocabulary vocabulary, MergeTable merges, WholeWords whole_words) {
    std::array<TokenId, 256> byte_ids{};
    for (std::size_t i = 0; i < byte_ids.size(); ++i) {
        const std::string byte(1, static_cast<char>(i));
        const auto id = vocabulary.find_bytes(byte);
        if (!id) {
            return data_loss(
                "the vocabulary has no token {} for byte {}: a byte-level "
                "vocabulary has one for each of the 256 bytes",
                shown_token(spell_bytes(byte)), i);
        }
        byte_ids[i] = *id;
    }
    return Bpe(std::move(vocabulary), std::move(merges), whole_words, byte_ids);
}

std::int32_t Bpe::rank_of(TokenId left, TokenId right) const {
    const Merge* merge = merges_.find(left, right);
    return merge == nullptr ? kNoMerge : merge->rank;
}

void Bpe::encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const {
    if (whole_words_ == WholeWords::look_up) {
        if (const auto id = vocabulary_.find_bytes(word)) {
            ids.push_back(*id);
            return;
        }
    }
    if (word.size() <= kShortWord) {
        encode_short(word, scratch, ids);
    } else {
        encode_long(word, scratch, ids);
    }
}

// ranks[i] is that of ids[i] with ids[i + 1].
void Bpe::encode_short(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
    auto& [ids, ranks, previous, next, heap] = scratch;
    ids.clear();
    ranks.clear();
    for (const char byte : word)
        ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
        ranks.push_back(rank_of(ids[i], ids[i + 1]));
    while (!ranks.empty()) {
        const auto lowest = std::min_element(ranks.begin(), ranks.end());
        if (*lowest == kNoMerge) break;
        const auto i = usize(lowest - ranks.begin());
        ids[i] = merges_.find(ids[i], ids[i + 1])->result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        ranks.erase(lowest);
        if (i > 0) ranks[i - 1] = rank_of(ids[i - 1], ids[i]);
        if (i < ranks.size()) ranks[i] = rank_of(ids[i], ids[i + 1]);
    }
    out.insert(out.end(), ids.begin(), ids.end());
}

void Bpe::encode_long(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
    scratch.ids.clear();
    for (const char byte : word)
        scratch.ids.push_back(byte_ids_[static_cast<unsigned char>(byte)]);
    LongWord(scratch, merges_).merge(out);
}

}  // namespace rm
