#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mesh.h"
#include "base/place_documents.h"
#include "base/plan.h"
#include "engine/model/chunk_sample.h"

namespace rm {

// A tile of the T tokens. The activations of some tiles are kept for the backward pass, those of
// the others are computed again.
struct Tile {
    TokenRange range;
    std::int64_t kept_first = -1;  // its first row among the kept ones; -1: not kept
    bool kept() const { return kept_first >= 0; }
    TokenRange kept_rows() const { return {kept_first, range.count}; }
};
using Chunk = std::vector<Tile>;

// Rows of a tensor chunk by chunk.
struct RowCut {
    std::vector<TokenRange> ranges;
    std::int64_t most = 0;   // of one chunk
    std::int64_t total = 0;  // of all
};

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
    std::vector<Chunk> chunks;  // of the T tokens
    RowCut tokens;              // of tensors with a row per token
    RowCut shards;              // per token of this tensor rank's part of every tile
    RowCut kept;                // of what is kept, per token
    RowCut kept_shards;         // likewise
    std::int64_t max_tile = 0;
    // The most tokens of the slot that attention takes at once; see QueryChunk.
    std::int64_t max_query_chunk = 0;
    MemoryPolicy memory;
    std::optional<ChunkSample> sample;  // what `chunks` and the cuts list; nothing: all
};

// Calls body(tile) for every tile of the T tokens, ascending.
template <typename F>
void for_each_tile(const RankLayout& layout, F body) {
    for (const Chunk& chunk : layout.chunks) {
        for (const Tile& tile : chunk)
            body(tile.range);
    }
}

// Errors of padded_length; and when `tensor` does not divide the tile, naming tiles that it does.
Result<RankLayout> make_rank_layout(std::int64_t context, const Mesh& mesh, int rank,
                                    const MemoryPolicy& memory);

// Leaves out all chunks but the sample's. Sizes and places stay those of the whole context.
void sample_chunks(RankLayout& layout, const ChunkSample& sample);

// Consecutive tokens of a slot that attention takes at once. They are cut at tiles of their runs,
// as near below multiples of chunk_tokens as these allow: their number does not depend on the runs.
struct QueryChunk {
    TokenRange range;  // of the S tokens
    std::vector<Run> runs;
};
// The state that attention holds at one time: all query chunks while keys and values come by, or
// each of them alone, with the key-value chunks up to its own.
struct AttentionPass {
    TokenRange rows;  // of the S tokens
    std::size_t first_chunk = 0;
    std::size_t num_chunks = 0;
};

// The documents of one sequence as this rank's kernels are told of them.
struct SequenceRuns {
    std::vector<Run> local;                  // of the T tokens
    std::vector<std::vector<Run>> by_chunk;  // the same, of every chunk
    std::vector<std::vector<Run>> by_slot;   // of the S tokens of every ring slot
    std::vector<QueryChunk> query_chunks;    // of the own slot's
    std::vector<AttentionPass> passes;
};
SequenceRuns make_sequence_runs(const Placement& placement, const RankLayout& layout);
// A micro-batch without a sequence (the batch does not fill the mesh): every token is padding.
SequenceRuns padding_runs(const RankLayout& layout);

// This rank's T tokens as pieces of the padded sequence.
std::vector<Piece> local_pieces(const Placement& placement, const RankLayout& layout);

}  // namespace rm
