#pragma once

#include <cstdint>
#include <vector>

#include "base/layout.h"
#include "base/mesh.h"

namespace rm {

// Which tokens one rank holds and how they are cut: sizes only, the same for every sequence of a
// stage. A ring slot's S tokens are cut into `ulysses` equal consecutive parts, one per rank, for
// all that works token by token; attention sees all S of them with a share of the heads. Ranks of
// one tensor group hold the same T tokens, and of activations that are sharded by token the tensor
// rank i the i-th part of every tile.
struct RankLayout {
    std::int64_t context = 0;       // tokens of the sequence
    std::int64_t padded = 0;        // a multiple of what the mesh needs
    std::int64_t slot_tokens = 0;   // S = padded / ring
    std::int64_t local_tokens = 0;  // T = S / ulysses
    int ring = 1;
    int ring_slot = 0;
    int ulysses = 1;
    int ulysses_index = 0;
    int tensor = 1;
    int tensor_index = 0;
    std::vector<std::vector<TokenRange>> chunks;  // tiles of the T tokens, by chunk
    std::int64_t max_tile = 0;
    std::int64_t max_chunk = 0;    // of the T tokens
    std::int64_t tile_tokens = 0;  // as asked for
    std::int64_t chunk_tokens = 0;
};

// Calls body(tile) for every tile of the T tokens, ascending.
template <typename F>
void for_each_tile(const RankLayout& layout, F body) {
    for (const auto& chunk : layout.chunks) {
        for (const TokenRange& tile : chunk)
            body(tile);
    }
}

// Errors of padded_length; and when `tensor` does not divide the tile, naming tiles that it does.
Result<RankLayout> make_rank_layout(std::int64_t context, const Mesh& mesh, int rank,
                                    std::int64_t tile_tokens, std::int64_t chunk_tokens);

// Consecutive queries of a slot that attention takes at once: at most chunk_tokens (a tile if that
// is more), cut at tiles of their runs.
struct QueryChunk {
    TokenRange range;  // of the S tokens
    std::vector<Run> runs;
};

// The documents of one sequence as this rank's kernels are told of them.
struct SequenceRuns {
    std::vector<Run> local;                 // of the T tokens
    std::vector<std::vector<Run>> by_slot;  // of the S tokens of every ring slot
    std::vector<QueryChunk> query_chunks;   // of the own slot's
};
SequenceRuns make_sequence_runs(const Placement& placement, const RankLayout& layout);
// A micro-batch without a sequence (the batch does not fill the mesh): every token is padding.
SequenceRuns padding_runs(const RankLayout& layout);

// This rank's T tokens as pieces of the padded sequence.
std::vector<Piece> local_pieces(const Placement& placement, const RankLayout& layout);

}  // namespace rm
