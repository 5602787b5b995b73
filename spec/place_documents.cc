#include "spec/place_documents.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"

namespace rm {
namespace {

// Pieces of longer documents have at least 512 tokens.
constexpr std::int64_t kZigzagTokens = 64 * 16;
// A piece shorter than this is not worth its run.
constexpr std::int64_t kShortestPiece = 16;
constexpr std::int64_t kTolerablePercent = 2;

std::int64_t pairs_within(std::int64_t tokens) {
    return tokens * (tokens + 1) / 2;
}

// Appends the piece, or extends the last one if the piece continues it.
void append(std::vector<Piece>& pieces, const Piece& piece) {
    if (piece.run.length == 0) return;
    const bool goes_on = !pieces.empty() && pieces.back().run.document == piece.run.document &&
                         pieces.back().first + pieces.back().run.length == piece.first;
    if (goes_on) {
        pieces.back().run.length += piece.run.length;
    } else {
        pieces.push_back(piece);
    }
}

std::vector<Piece> zigzag_pieces(std::int64_t context, std::int64_t padded, int ring, int slot) {
    std::vector<Piece> pieces;
    for (const TokenRange& range : zigzag_ranges(padded, ring, slot)) {
        const std::int64_t real = std::clamp<std::int64_t>(context - range.first, 0, range.count);
        const std::int64_t padding = range.first + real;
        append(pieces, {range.first, {0, range.first, real}});
        append(pieces, {padding, {kPaddingDocument, padding, range.count - real}});
    }
    return pieces;
}

DocumentLayout zigzag_alone(std::int64_t context, std::int64_t padded, int ring) {
    DocumentLayout laid_out;
    for (int slot = 0; slot < ring; ++slot)
        laid_out.slots.push_back(zigzag_pieces(context, padded, ring, slot));
    return laid_out;
}

// The documents of a sequence and where they begin.
struct Sequence {
    Sequence(std::span<const std::int64_t> documents, std::int64_t padded_tokens,
             Positions position_kind)
        : lengths(documents), padded(padded_tokens), positions(position_kind) {
        for (const std::int64_t length : lengths) {
            RM_CHECK(length > 0, "a document of {} tokens", length);
            begins.push_back(begins.back() + length);
        }
        RM_CHECK(begins.back() <= padded, "documents of {} tokens in a sequence of {}",
                 begins.back(), padded);
    }

    // Largest first.
    std::vector<std::size_t> by_length() const {
        std::vector<std::size_t> order(lengths.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return lengths[a] > lengths[b]; });
        return order;
    }

    std::span<const std::int64_t> lengths;
    std::int64_t padded;
    Positions positions;
    std::vector<std::int64_t> begins = {0};  // and the end of the last
};

// A layout under construction. Counts only uneven work: zigzag gives every slot the same work in
// every step, up to the difference that one token makes.
class Packing {
public:
    Packing(const Sequence& sequence, int ring)
        : sequence_(&sequence),
          room_(usize(ring), sequence.padded / ring),
          slots_(usize(ring)),
          work_(usize(ring * ring)) {}

    // The remainder of the division by R goes to the slots with the most room, so room stays equal
    // within a token as long as all documents are cut this way.
    void zigzag(std::size_t document) {
        const std::int64_t length = sequence_->lengths[document];
        const std::vector<std::int64_t> share = shares(length);
        std::int64_t low = 0;
        std::int64_t high = length;
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
            const std::int64_t first = share[slot] / 2;
            const std::int64_t last = share[slot] - first;
            high -= last;
            add(slot, document, low, first);
            add(slot, document, high, last);
            low += first;
        }
        even_pairs_ += pairs_within(length);
    }

    // Places the document on the slot with the least work among those with room for all of it; if
    // there is none, cuts it over those with the most room.
    void place(std::size_t document) {
        const std::int64_t length = sequence_->lengths[document];
        if (const std::size_t slot = least_work(length); slot < slots_.size()) {
            add(slot, document, 0, length);
            work_at(slot, slot) += pairs_within(length);
            return;
        }
        std::vector<std::pair<std::size_t, std::int64_t>> parts;  // slot, tokens
        for (std::int64_t done = 0; done < length;) {
            const std::size_t slot = most_room();
            const std::int64_t tokens = std::min(room_[slot], length - done);
            for (const auto& [earlier, earlier_tokens] : parts)
                work_at(slot, earlier) += tokens * earlier_tokens;
            work_at(slot, slot) += pairs_within(tokens);
            parts.emplace_back(slot, tokens);
            add(slot, document, done, tokens);
            done += tokens;
        }
    }

    // Pairs that R slots could do in the time this layout takes.
    std::int64_t cost() const {
        const std::size_t ring = slots_.size();
        std::int64_t slowest = 0;
        for (std::size_t step = 0; step < ring; ++step) {
            std::int64_t most = 0;
            for (std::size_t slot = 0; slot < ring; ++slot)
                most = std::max(most, work_[slot * ring + (slot + ring - step) % ring]);
            slowest += most;
        }
        return even_pairs_ + static_cast<std::int64_t>(ring) * slowest;
    }

    DocumentLayout finish() && {
        std::int64_t padding = sequence_->begins.back();
        DocumentLayout laid_out;
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
            std::sort(slots_[slot].begin(), slots_[slot].end(),
                      [](const Piece& a, const Piece& b) { return a.first < b.first; });
            std::vector<Piece>& pieces = laid_out.slots.emplace_back();
            for (const Piece& piece : slots_[slot])
                append(pieces, piece);
            append(pieces, {padding, {kPaddingDocument, padding, room_[slot]}});
            padding += room_[slot];
        }
        RM_CHECK(padding == sequence_->padded, "{} tokens placed of {}", padding,
                 sequence_->padded);
        return laid_out;
    }

private:
    // Query-key pairs between the query slot and the key slot.
    std::int64_t& work_at(std::size_t query, std::size_t key) {
        return work_[query * slots_.size() + key];
    }

    std::size_t least_work(std::int64_t length) {
        std::size_t least = slots_.size();
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
            if (room_[slot] < length) continue;
            const bool less = least == slots_.size() || work_at(slot, slot) < work_at(least, least);
            if (less) least = slot;
        }
        return least;
    }

    std::size_t most_room() const {
        return usize(std::max_element(room_.begin(), room_.end()) - room_.begin());
    }

    // Tokens for each slot; the remainder goes to the slots with the most room.
    std::vector<std::int64_t> shares(std::int64_t length) const {
        const auto ring = static_cast<std::int64_t>(slots_.size());
        std::vector<std::size_t> order(slots_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return room_[a] > room_[b]; });
        std::vector<std::int64_t> tokens(slots_.size(), length / ring);
        for (std::int64_t i = 0; i < length % ring; ++i)
            ++tokens[order[usize(i)]];
        return tokens;
    }

    void add(std::size_t slot, std::size_t document, std::int64_t offset, std::int64_t length) {
        const std::int64_t first = sequence_->begins[document] + offset;
        const std::int64_t position = sequence_->positions == Positions::reset ? offset : first;
        slots_[slot].push_back({first, {static_cast<std::int32_t>(document), position, length}});
        room_[slot] -= length;
    }

    const Sequence* sequence_;
    std::vector<std::int64_t> room_;  // tokens each slot still takes
    std::vector<std::vector<Piece>> slots_;
    std::int64_t even_pairs_ = 0;     // of zigzag-cut documents, over all slots and steps
    std::vector<std::int64_t> work_;  // (R, R) pairs of the others
};

// How many of `order` are longer than `tokens`.
std::size_t count_longer(const Sequence& sequence, std::span<const std::size_t> order,
                         std::int64_t tokens) {
    const auto end = std::find_if(order.begin(), order.end(), [&](std::size_t document) {
        return sequence.lengths[document] <= tokens;
    });
    return usize(end - order.begin());
}

// Zigzag-cuts the long documents, then more of them, a few at a time, until the work is even.
Packing pack(const Sequence& sequence, int ring) {
    const std::vector<std::size_t> order = sequence.by_length();
    const std::size_t longest = count_longer(sequence, order, kZigzagTokens * ring);
    const std::size_t most =
        std::max(longest, count_longer(sequence, order, 2 * ring * kShortestPiece - 1));
    std::int64_t pairs = 0;
    for (const std::int64_t length : sequence.lengths)
        pairs += pairs_within(length);
    Packing cut(sequence, ring);
    std::optional<Packing> best;
    std::size_t num_cut = 0;
    for (std::size_t more = 0;; more += std::max<std::size_t>(1, more / 2)) {
        for (const std::size_t end = std::min(longest + more, most); num_cut < end; ++num_cut)
            cut.zigzag(order[num_cut]);
        Packing packing = cut;
        for (std::size_t i = num_cut; i < order.size(); ++i)
            packing.place(order[i]);
        if (!best || packing.cost() < best->cost()) best = std::move(packing);
        const bool even = best->cost() * 100 <= pairs * (100 + kTolerablePercent);
        if (even || num_cut == most) return *std::move(best);
    }
}

}  // namespace

DocumentLayout place_documents(std::span<const std::int64_t> documents, std::int64_t padded,
                               int ring, Positions positions) {
    RM_CHECK(padded % (2 * ring) == 0, "{} tokens do not cut into {} pieces", padded, 2 * ring);
    if (documents.size() > 1) {
        const Sequence sequence(documents, padded, positions);
        return pack(sequence, ring).finish();
    }
    const std::int64_t context = documents.empty() ? 0 : documents.front();
    RM_CHECK(context >= 0 && context <= padded, "a document of {} tokens in a sequence of {}",
             context, padded);
    return zigzag_alone(context, padded, ring);
}

std::vector<TokenRange> zigzag_ranges(std::int64_t padded, int ring, int slot) {
    RM_CHECK(padded % (2 * ring) == 0, "{} tokens do not cut into {} pieces", padded, 2 * ring);
    const std::int64_t piece = padded / (2 * ring);
    return {{slot * piece, piece}, {(2 * ring - 1 - slot) * piece, piece}};
}

std::vector<Run> runs_of(std::span<const Piece> pieces) {
    std::vector<Run> runs;
    for (const Piece& piece : pieces)
        runs.push_back(piece.run);
    return runs;
}

std::vector<std::vector<std::int64_t>> ring_work(const DocumentLayout& laid_out) {
    const std::size_t ring = laid_out.slots.size();
    std::vector<std::vector<Run>> runs;
    for (const std::vector<Piece>& pieces : laid_out.slots)
        runs.push_back(runs_of(pieces));
    std::vector<std::vector<std::int64_t>> work(ring, std::vector<std::int64_t>(ring));
    for (std::size_t step = 0; step < ring; ++step) {
        for (std::size_t slot = 0; slot < ring; ++slot)
            work[step][slot] = attended_pairs(runs[slot], runs[(slot + ring - step) % ring]);
    }
    return work;
}

RingBalance ring_balance(const DocumentLayout& laid_out) {
    const auto ring = static_cast<double>(laid_out.slots.size());
    RingBalance balance;
    double most = 0;
    double all = 0;
    for (const std::vector<std::int64_t>& step : ring_work(laid_out)) {
        const auto largest = static_cast<double>(*std::max_element(step.begin(), step.end()));
        const auto sum =
            static_cast<double>(std::accumulate(step.begin(), step.end(), std::int64_t{0}));
        if (sum > 0) balance.worst_step = std::max(balance.worst_step, largest * ring / sum);
        most += largest;
        all += sum;
    }
    if (all > 0) balance.overall = most * ring / all;
    return balance;
}

}  // namespace rm
