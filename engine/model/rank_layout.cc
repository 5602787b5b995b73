#include "engine/model/rank_layout.h"

#include <algorithm>

namespace rm {
namespace {

void cut_chunks(const RankLayout& layout, SequenceRuns& runs) {
    for (std::size_t chunk = 0; chunk < layout.chunks.size(); ++chunk) {
        const TokenRange range = layout.chunk_range(chunk);
        runs.local_chunks.push_back(slice_runs(runs.local, range.first, range.count));
    }
}

std::vector<Run> as_padding(std::vector<Run> runs) {
    for (Run& run : runs)
        run.document = kPaddingDocument;
    return runs;
}

}  // namespace

Result<RankLayout> make_rank_layout(std::int64_t context, const Mesh& mesh, int rank,
                                    std::int64_t tile_tokens, std::int64_t chunk_tokens) {
    RM_TRY(const std::int64_t padded, padded_length(context, mesh));
    const int ring = mesh.size(Axis::ring);
    RankLayout layout;
    layout.context = context;
    layout.padded = padded;
    layout.local_tokens = padded / ring;
    layout.ring_slot = mesh.coord(rank, Axis::ring);
    layout.pieces = zigzag_ranges(padded, ring, layout.ring_slot);
    for (int slot = 0; slot < ring; ++slot) {
        layout.sequence.by_slot.push_back(zigzag_runs(context, padded, ring, slot, 0));
        layout.nothing.by_slot.push_back(as_padding(layout.sequence.by_slot.back()));
    }
    const auto slot = static_cast<std::size_t>(layout.ring_slot);
    layout.sequence.local = layout.sequence.by_slot[slot];
    layout.nothing.local = layout.nothing.by_slot[slot];
    const std::vector<TokenRange> tiles = cut_tiles(layout.sequence.local, tile_tokens);
    layout.chunks = group_chunks(tiles, std::max<std::int64_t>(1, chunk_tokens / tile_tokens));
    for (const TokenRange& tile : tiles)
        layout.max_tile = std::max(layout.max_tile, tile.count);
    for (std::size_t chunk = 0; chunk < layout.chunks.size(); ++chunk) {
        layout.max_chunk = std::max(layout.max_chunk, layout.chunk_range(chunk).count);
    }
    cut_chunks(layout, layout.sequence);
    cut_chunks(layout, layout.nothing);
    return layout;
}

}  // namespace rm
