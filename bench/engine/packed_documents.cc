#include "bench/engine/packed_documents.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace rm::bench {

std::vector<std::int64_t> lognormal_documents(std::uint64_t seed, std::int64_t total_tokens,
                                              double median, double sigma) {
    Rng rng(seed);
    std::vector<std::int64_t> lengths;
    for (std::int64_t left = total_tokens; left > 0; left -= lengths.back()) {
        const double length = std::round(median * std::exp(sigma * rng.normal()));
        lengths.push_back(
            static_cast<std::int64_t>(std::clamp(length, 1.0, static_cast<double>(left))));
    }
    return lengths;
}

namespace {

// Tokens [range.first, range.first + range.count) of the sequence.
std::vector<Piece> cut_range(const std::vector<std::int64_t>& documents, const TokenRange& range) {
    std::vector<Piece> pieces;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        const std::int64_t from = std::max(begin, range.first);
        const std::int64_t to = std::min(begin + documents[i], range.first + range.count);
        if (from < to)
            pieces.push_back({from, {static_cast<std::int32_t>(i), from - begin, to - from}});
        begin += documents[i];
    }
    return pieces;
}

}  // namespace

DocumentLayout plain_zigzag(const std::vector<std::int64_t>& documents, std::int64_t padded,
                            int ring) {
    DocumentLayout laid_out;
    for (int slot = 0; slot < ring; ++slot) {
        std::vector<Piece>& pieces = laid_out.slots.emplace_back();
        for (const TokenRange& range : zigzag_ranges(padded, ring, slot)) {
            const std::vector<Piece> part = cut_range(documents, range);
            pieces.insert(pieces.end(), part.begin(), part.end());
        }
    }
    return laid_out;
}

}  // namespace rm::bench
