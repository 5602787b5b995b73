#include "base/layout.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace rm {

std::ostream& operator<<(std::ostream& out, const Run& run) {
    return out << "{document " << run.document << ", " << run.first << "+" << run.length << "}";
}

std::int64_t num_tokens(std::span<const Run> runs) {
    std::int64_t total = 0;
    for (const Run& run : runs)
        total += run.length;
    return total;
}

std::vector<Run> slice_runs(std::span<const Run> runs, std::int64_t first, std::int64_t count) {
    std::vector<Run> slice;
    std::int64_t start = 0;  // local index of the current run's first token
    for (const Run& run : runs) {
        const std::int64_t begin = std::max(first, start);
        const std::int64_t end = std::min(first + count, start + run.length);
        if (begin < end) slice.push_back({run.document, run.first + begin - start, end - begin});
        start += run.length;
    }
    return slice;
}

namespace {

// Both runs belong to one document: query position p sees min(max(p - k.first + 1, 0), k.length)
// keys of k.
std::int64_t attended_pairs(const Run& q, const Run& k) {
    std::int64_t pairs = 0;
    const std::int64_t last_partial = std::min(q.first + q.length, k.first + k.length);
    const std::int64_t begin = std::max(q.first, k.first);
    if (begin < last_partial) {
        const std::int64_t low = begin - k.first + 1;
        const std::int64_t high = last_partial - k.first;
        pairs += (low + high) * (high - low + 1) / 2;
    }
    const std::int64_t full_from = std::max(q.first, k.first + k.length);
    return pairs + std::max<std::int64_t>(q.first + q.length - full_from, 0) * k.length;
}

}  // namespace

// A sequence may hold very many documents: each query run visits only keys of its own document.
std::int64_t attended_pairs(std::span<const Run> queries, std::span<const Run> keys) {
    std::unordered_map<std::int32_t, std::vector<const Run*>> keys_of;
    for (const Run& k : keys) {
        if (k.document != kPaddingDocument) keys_of[k.document].push_back(&k);
    }
    std::int64_t pairs = 0;
    for (const Run& q : queries) {
        const auto found = keys_of.find(q.document);
        if (found == keys_of.end()) continue;
        for (const Run* k : found->second)
            pairs += attended_pairs(q, *k);
    }
    return pairs;
}

std::vector<TokenRange> cut_tiles(std::span<const Run> runs, std::int64_t tile_tokens) {
    RM_CHECK(tile_tokens > 0, "tile_tokens is {}; it must be positive", tile_tokens);
    std::vector<TokenRange> tiles;
    std::int64_t start = 0;
    for (const Run& run : runs) {
        for (std::int64_t at = 0; at < run.length; at += tile_tokens) {
            tiles.push_back({start + at, std::min(tile_tokens, run.length - at)});
        }
        start += run.length;
    }
    return tiles;
}

std::vector<std::vector<TokenRange>> group_chunks(std::span<const TokenRange> tiles,
                                                  std::int64_t tiles_per_chunk) {
    RM_CHECK(tiles_per_chunk > 0, "a chunk of {} tiles", tiles_per_chunk);
    std::vector<std::vector<TokenRange>> chunks;
    for (std::size_t at = 0; at < tiles.size(); at += tiles_per_chunk) {
        const std::size_t end =
            std::min(tiles.size(), at + static_cast<std::size_t>(tiles_per_chunk));
        chunks.emplace_back(tiles.begin() + at, tiles.begin() + end);
    }
    return chunks;
}

TokenRange cover(std::span<const TokenRange> tiles) {
    RM_CHECK(!tiles.empty(), "an empty chunk");
    const TokenRange& last = tiles.back();
    return {tiles.front().first, last.first + last.count - tiles.front().first};
}

}  // namespace rm
