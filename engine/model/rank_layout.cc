#include "engine/model/rank_layout.h"

#include <algorithm>
#include <numeric>

namespace rm {
namespace {

constexpr std::int64_t kTileStep = 64;  // tiles are multiples of it

// Every rank of a tensor group has an equal part of every tile.
Status check_tile(std::int64_t tile_tokens, int tensor) {
    RM_CHECK(tile_tokens > 0, "tile_tokens is {}; it must be positive", tile_tokens);
    if (tile_tokens % tensor == 0) return {};
    const std::int64_t step = std::lcm<std::int64_t>(kTileStep, tensor);
    const std::int64_t below = tile_tokens / step * step;
    const std::string nearest =
        below > 0 ? format("{} or {}", below, below + step) : format("{}", step);
    return invalid_argument(
        "a tile of {} tokens does not cut into equal parts for tensor {}; the nearest multiples of "
        "{} that do: {}",
        tile_tokens, tensor, kTileStep, nearest);
}

std::vector<QueryChunk> cut_queries(std::span<const Run> runs, const RankLayout& layout) {
    const std::int64_t most = std::max(layout.chunk_tokens, layout.tile_tokens);
    std::vector<QueryChunk> chunks;
    for (const TokenRange& tile : cut_tiles(runs, layout.tile_tokens)) {
        const bool fits = !chunks.empty() && chunks.back().range.count + tile.count <= most;
        if (fits) {
            chunks.back().range.count += tile.count;
        } else {
            chunks.push_back({tile, {}});
        }
    }
    for (QueryChunk& chunk : chunks)
        chunk.runs = slice_runs(runs, chunk.range.first, chunk.range.count);
    return chunks;
}

}  // namespace

Result<RankLayout> make_rank_layout(std::int64_t context, const Mesh& mesh, int rank,
                                    std::int64_t tile_tokens, std::int64_t chunk_tokens) {
    RankLayout layout;
    layout.context = context;
    layout.ring = mesh.size(Axis::ring);
    layout.ring_slot = mesh.coord(rank, Axis::ring);
    layout.ulysses = mesh.size(Axis::ulysses);
    layout.ulysses_index = mesh.coord(rank, Axis::ulysses);
    layout.tensor = mesh.size(Axis::tensor);
    layout.tensor_index = mesh.coord(rank, Axis::tensor);
    layout.tile_tokens = tile_tokens;
    layout.chunk_tokens = chunk_tokens;
    RM_RETURN_IF_ERROR(check_tile(tile_tokens, layout.tensor));
    RM_TRY(layout.padded, padded_length(context, mesh));
    layout.slot_tokens = layout.padded / layout.ring;
    layout.local_tokens = layout.slot_tokens / layout.ulysses;
    const std::vector<Run> all = {{0, 0, layout.local_tokens}};
    layout.chunks = group_chunks(cut_tiles(all, tile_tokens),
                                 std::max<std::int64_t>(1, chunk_tokens / tile_tokens));
    layout.max_tile = layout.chunks.front().front().count;
    layout.max_chunk = cover(layout.chunks.front()).count;
    return layout;
}

SequenceRuns make_sequence_runs(const Placement& placement, const RankLayout& layout) {
    SequenceRuns runs;
    for (const std::vector<Piece>& pieces : placement.slots)
        runs.by_slot.push_back(runs_of(pieces));
    runs.local = runs_of(local_pieces(placement, layout));
    runs.query_chunks =
        cut_queries(runs.by_slot[static_cast<std::size_t>(layout.ring_slot)], layout);
    return runs;
}

SequenceRuns padding_runs(const RankLayout& layout) {
    return make_sequence_runs(place_documents({}, layout.padded, layout.ring, Positions::reset),
                              layout);
}

std::vector<Piece> local_pieces(const Placement& placement, const RankLayout& layout) {
    const std::int64_t begin = layout.ulysses_index * layout.local_tokens;
    const std::int64_t end = begin + layout.local_tokens;
    std::vector<Piece> local;
    std::int64_t start = 0;  // of the piece, in the slot's token order
    for (const Piece& piece : placement.slots.at(static_cast<std::size_t>(layout.ring_slot))) {
        const std::int64_t from = std::max(begin - start, std::int64_t{0});
        const std::int64_t to = std::min(end - start, piece.run.length);
        start += piece.run.length;
        if (from >= to) continue;
        local.push_back(
            {piece.first + from, {piece.run.document, piece.run.first + from, to - from}});
    }
    return local;
}

}  // namespace rm
