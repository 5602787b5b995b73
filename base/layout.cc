#include "base/layout.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace rm {
namespace {

constexpr std::int64_t kAlignTokens = 16;
constexpr double kMaxWaste = 0.10;

std::int64_t alignment(const Mesh& mesh) {
    return 2 * kAlignTokens * mesh.size(Axis::ring) * mesh.size(Axis::ulysses) *
           mesh.size(Axis::tensor);
}

}  // namespace

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

Result<std::int64_t> padded_length(std::int64_t context, const Mesh& mesh) {
    const std::int64_t multiple = alignment(mesh);
    if (context < 1) return invalid_argument("context is {}; it must be positive", context);
    const std::int64_t padded = (context + multiple - 1) / multiple * multiple;
    const double waste = static_cast<double>(padded - context) / static_cast<double>(padded);
    if (waste <= kMaxWaste) return padded;
    const std::int64_t below = padded - multiple;
    const std::string nearest =
        below > 0 ? format("{} or {}", below, padded) : format("{}", padded);
    return invalid_argument(
        "context {} is too short for {}: it would be padded to {} (a multiple of {}), {:.0} % "
        "waste "
        "(at most 10 %); the nearest contexts without waste: {}",
        context, to_string(mesh), padded, multiple, waste * 100, nearest);
}

std::vector<TokenRange> zigzag_ranges(std::int64_t padded, int ring, int slot) {
    RM_CHECK(padded % (2 * ring) == 0, "{} tokens do not cut into {} pieces", padded, 2 * ring);
    const std::int64_t piece = padded / (2 * ring);
    return {{slot * piece, piece}, {(2 * ring - 1 - slot) * piece, piece}};
}

std::vector<Run> zigzag_runs(std::int64_t context, std::int64_t padded, int ring, int slot,
                             std::int32_t document) {
    const std::span<const std::int64_t> documents(&context, context > 0 ? 1 : 0);
    const Placement placement = place_documents(documents, padded, ring, Positions::reset);
    std::vector<Run> runs = runs_of(placement.slots.at(static_cast<std::size_t>(slot)));
    for (Run& run : runs) {
        if (run.document != kPaddingDocument) run.document = document;
    }
    return runs;
}

std::vector<Run> runs_of(std::span<const Piece> pieces) {
    std::vector<Run> runs;
    for (const Piece& piece : pieces)
        runs.push_back(piece.run);
    return runs;
}

std::vector<std::vector<std::int64_t>> ring_work(const Placement& placement) {
    const std::size_t ring = placement.slots.size();
    std::vector<std::vector<Run>> runs;
    for (const std::vector<Piece>& pieces : placement.slots)
        runs.push_back(runs_of(pieces));
    std::vector<std::vector<std::int64_t>> work(ring, std::vector<std::int64_t>(ring));
    for (std::size_t step = 0; step < ring; ++step) {
        for (std::size_t slot = 0; slot < ring; ++slot)
            work[step][slot] = attended_pairs(runs[slot], runs[(slot + ring - step) % ring]);
    }
    return work;
}

RingBalance ring_balance(const Placement& placement) {
    const auto ring = static_cast<double>(placement.slots.size());
    RingBalance balance;
    double most = 0;
    double all = 0;
    for (const std::vector<std::int64_t>& step : ring_work(placement)) {
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
