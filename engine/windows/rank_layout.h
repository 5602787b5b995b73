#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/layout.h"
#include "engine/windows/chunk_pairs.h"
#include "engine/windows/ring_order.h"
#include "spec/memory_policy.h"
#include "spec/mesh.h"
#include "spec/model_preset.h"
#include "spec/place_documents.h"
#include "spec/plan.h"

namespace rm {

// The chunks that a dry run visits: some at the front and some at the back of a long context. It
// leaves out the chunks between them, which repeat the same work: docs/memory.md explains why a dry
// run still finds the same requests, races and times.
struct ChunkSample {
    enum class Queries { sampled, all };
    std::size_t front = 0;
    std::size_t back = 0;
    // From half way on. A ring's slot has two pieces, of which the first sees less: its sample has
    // the front of both.
    std::size_t middle = 0;
    // Whether the sample also drops attention's query chunks. With all keys on the device, each
    // query chunk attends to a different number of keys, so no chunk can represent another.
    Queries queries = Queries::sampled;
    // The alpha by which the sampled chunks keep tiles; nothing: the policy's alpha.
    std::optional<double> alpha = {};
};

// The blocks of a ring that a sample visits in windows: the first steps of a round, and the first
// rounds. At both ends of the ring all other slots' blocks see the same share of the queries.
struct RingSample {
    int steps = 0;
    int rounds = 0;
};

// With this alpha, the pattern of kept tiles repeats every `chunks` chunks: the policy's alpha if
// its pattern repeats after a few chunks, else the nearest alpha whose pattern does.
struct KeptPeriod {
    std::int64_t chunks = 1;
    double alpha = 0;
};
KeptPeriod kept_period(const MemoryPolicy& policy);

// A sample large enough to show a pass's memory requests and their order: it reuses every slot of a
// window more than once and covers the whole pattern of kept tiles.
ChunkSample planning_sample(const MemoryPolicy& policy);
// Large enough to reuse every store that blocks and their sums take in turn.
constexpr RingSample kPlanningRing{.steps = 6, .rounds = 4};

// A tile of the T tokens. The activations of some tiles are kept for the backward pass, those of
// the others are recomputed.
struct Tile {
    TokenRange range;
    std::int64_t kept_first = -1;  // its first row among the kept ones; -1: not kept
    int lane = 0;                  // the scratch that it uses, while it is under way (TileLanes)
    bool kept() const { return kept_first >= 0; }
    TokenRange kept_rows() const { return {kept_first, range.count}; }
};
using Chunk = std::vector<Tile>;

// The part of a tile that each of `tensor` ranks holds, among the rows of all tiles' parts.
inline TokenRange shard_of(const TokenRange& tile, int tensor) {
    return {tile.first / tensor, tile.count / tensor};
}

// Rows of a tensor chunk by chunk.
struct RowCut {
    std::vector<TokenRange> ranges;
    std::int64_t most = 0;   // of one chunk
    std::int64_t total = 0;  // of all
};

// Which tokens one rank holds and how they are cut: sizes only, the same for every sequence of a
// stage. Token-wise work splits a ring slot's S tokens among the `ulysses` ranks by tiles: rank u
// has the u-th of every `ulysses` consecutive tiles, so that the same tile of all ranks, and the
// same chunk, is a range of the slot. Attention sees all S tokens with a share of the heads. The
// ranks of one tensor group hold the same T tokens; where activations are sharded by token, tensor
// rank i holds the i-th part of every tile.
struct RankLayout {
    std::int64_t context = 0;       // tokens of the sequence
    std::int64_t padded = 0;        // a multiple of what the mesh needs
    std::int64_t slot_tokens = 0;   // S = padded / ring
    std::int64_t local_tokens = 0;  // T = S / ulysses
    int ring = 1;
    int ring_slot = 0;
    RingOrder ring_order;  // of the blocks of keys and values
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
    // The most tokens of the slot that attention takes at once; see SlotChunk. Windows of all
    // heads for a chunk of tokens take as much as those of a share of the heads for `ulysses` times
    // as many.
    std::int64_t max_slot_chunk = 0;
    MemoryPolicy memory;
    std::optional<ChunkSample> sample;  // what `chunks` and the cuts list; nothing: all

    bool in_windows() const { return memory.working == WorkingSet::windows; }
    // Tiles under way at once, so that one hides the messages of another.
    int lanes() const { return tensor * ulysses > 1 ? 2 : 1; }
    // The slot's rows that hold this tile of every ulysses rank, in their order.
    TokenRange slot_rows(const TokenRange& tile) const {
        return {tile.first * ulysses, tile.count * ulysses};
    }
    std::int64_t slot_chunk_tokens() const;
};

// Fails as padded_length does, or if `tensor` does not divide the tile: names tiles that fit.
Result<RankLayout> make_rank_layout(std::int64_t context, const Mesh& mesh, int rank,
                                    const MemoryPolicy& memory);

// The layout of one token that follows a sequence of `of`, or the last of its tokens: it is row 0
// of the slot, and padding gives every ulysses and tensor rank a row. All ring slots hold the same.
RankLayout make_decode_layout(const RankLayout& of);

// Which heads a tensor rank works on.
struct HeadShare {
    std::int64_t q_first = 0;
    std::int64_t q_count = 0;
    std::int64_t kv_first = 0;  // the key-value heads that its query heads use
    std::int64_t kv_count = 0;
};
HeadShare head_share(const ModelConfig& model, int tensor, int index);

// Sizes of one rank's tensors. Token by token it works on T tokens and its tensor share of heads
// and features, and of the residual stream it holds Ts of them; attention sees the slot's S tokens
// and a share of those heads.
struct RankShapes {
    RankShapes(const ModelConfig& model, const RankLayout& layout);

    std::int64_t T = 0;           // tokens
    std::int64_t Ts = 0;          // T / tensor
    std::int64_t S = 0;           // tokens of the slot: ulysses x T
    std::int64_t tile = 0;        // tokens of the longest tile
    std::int64_t C = 0;           // hidden
    std::int64_t F = 0;           // feed-forward / tensor
    std::int64_t D = 0;           // head dim
    std::int64_t Hq = 0;          // query heads / tensor
    std::int64_t Hk = 0;          // key-value heads that those use
    std::int64_t attended_q = 0;  // query heads in attention: Hq / ulysses
    // Key-value heads in attention: of the query heads there, each run of attended_q / attended_kv
    // uses one.
    std::int64_t attended_kv = 0;
};

// Leaves out all chunks but the sample's. Sizes and places stay those of the whole context.
void sample_chunks(RankLayout& layout, const ChunkSample& sample);
// Does nothing outside of windows: whole blocks are few.
void sample_ring(RankLayout& layout, const RingSample& sample);

// Consecutive tokens of a slot that attention takes at once. Cuts lie on tile boundaries of
// the runs, just below multiples of slot_chunk_tokens: the number of chunks does not depend on the
// runs.
struct SlotChunk {
    TokenRange range;  // of the S tokens
    std::vector<Run> runs;
};
// The query chunks that attention's forward pass holds at one time: all of them while keys and
// values pass by, or one at a time, with those of the key-value chunks that it sees.
struct QueryGroup {
    TokenRange rows;  // of the S tokens
    std::size_t first_chunk = 0;
    std::size_t num_chunks = 0;
};

// The documents of one sequence, in the form that this rank's kernels take.
struct SequenceRuns {
    std::vector<Run> local;                  // of the T tokens
    std::vector<std::vector<Run>> by_chunk;  // the same, of every chunk
    std::vector<std::vector<Run>> by_slot;   // of the S tokens of every ring slot
    std::vector<SlotChunk> query_chunks;     // of the own slot
    std::vector<QueryGroup> query_groups;
    // Every slot's chunks of keys and values: in windows cut as queries are, else the whole block.
    std::vector<std::vector<SlotChunk>> key_chunks;
    // The chunks that see each other, and those of the same rows. Keys are numbered by block in the
    // ring's order, then by chunk; in `by_keys` blocks are in the backward pass's order.
    ChunkPairs by_queries;  // outer: queries; in windows only
    ChunkPairs by_keys;     // outer: keys
    // By query chunk, its first pair of `by_keys`.
    std::vector<std::size_t> first_of_queries;

    std::size_t chunks_per_block() const { return key_chunks[0].size(); }
};
SequenceRuns make_sequence_runs(const DocumentLayout& laid_out, const RankLayout& layout);
// A micro-batch without a sequence (the batch does not fill the mesh): every token is padding.
SequenceRuns padding_runs(const RankLayout& layout);

// One token of a decode layout, of document 0.
SequenceRuns decode_runs(std::int64_t position, const RankLayout& layout);

// This rank's T tokens as pieces of the padded sequence.
std::vector<Piece> local_pieces(const DocumentLayout& laid_out, const RankLayout& layout);

}  // namespace rm
