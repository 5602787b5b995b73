#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "base/mesh.h"
#include "base/result.h"

// Which token of which document sits where. Runs are the only mask: causal, document and padding
// masks, skipped tiles and FLOP counts all follow from them.
namespace rm {

constexpr std::int32_t kPaddingDocument = -1;

// `length` consecutive positions of one document. Rows of document kPaddingDocument see nothing and
// are seen by nothing, their own document included.
struct Run {
    std::int32_t document = 0;
    std::int64_t first = 0;   // position of the first token within its document (RoPE's position)
    std::int64_t length = 0;  // tokens
    bool operator==(const Run&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Run& run);

std::int64_t num_tokens(std::span<const Run> runs);

// The part of `runs` that covers local tokens [first, first + count).
std::vector<Run> slice_runs(std::span<const Run> runs, std::int64_t first, std::int64_t count);

// Query-key pairs allowed by the causal and document masks: the unit of attention work.
std::int64_t attended_pairs(std::span<const Run> queries, std::span<const Run> keys);

// Consecutive local tokens.
struct TokenRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool operator==(const TokenRange&) const = default;
};

// Cuts the local token order at multiples of `tile_tokens` counted from each run's start,
// ascending, with one short tile allowed at the end of a run. A tile is arithmetic: every GEMM over
// tokens, every weight-gradient accumulation, loss sum and attention step is one tile.
std::vector<TokenRange> cut_tiles(std::span<const Run> runs, std::int64_t tile_tokens);

// Groups `tiles` into chunks of at most `tiles_per_chunk`. A chunk is data movement only.
std::vector<std::vector<TokenRange>> group_chunks(std::span<const TokenRange> tiles,
                                                  std::int64_t tiles_per_chunk);
TokenRange cover(std::span<const TokenRange> tiles);

// Tokens to which a sequence of `context` tokens is padded on `mesh`: the next multiple of
// 2 x ring x ulysses x tensor x 16. An error above 10 % waste, with the nearest contexts that fit.
Result<std::int64_t> padded_length(std::int64_t context, const Mesh& mesh);

// Zigzag: the padded sequence is cut into 2R pieces and ring slot r holds pieces r and 2R-1-r, so
// that each slot sees the same number of query-key pairs (Brandon et al., Striped/zigzag ring
// attention). Returns the runs of slot `slot` in local token order; tokens at or past `context` are
// padding.
std::vector<Run> zigzag_runs(std::int64_t context, std::int64_t padded, int ring, int slot,
                             std::int32_t document);

// For each run token in local order, its index in the (padded) sequence; how data is cut for a
// slot.
std::vector<TokenRange> zigzag_ranges(std::int64_t padded, int ring, int slot);

}  // namespace rm
