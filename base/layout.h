#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

// Runs of tokens on a rank. They are the only mask: causal, document and padding masks, skipped
// tiles and FLOP counts all follow from them.
namespace rm {

constexpr std::int32_t kPaddingDocument = -1;

// `length` consecutive positions of one document. Rows of document kPaddingDocument attend to
// nothing and nothing attends to them, not even each other.
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
// ascending, with one short tile allowed at the end of a run. Cutting attention there, and only
// there, changes no bit. GEMMs over tokens, weight-gradient accumulations and loss sums are cut as
// one run of all local tokens: document boundaries do not affect them.
std::vector<TokenRange> cut_tiles(std::span<const Run> runs, std::int64_t tile_tokens);

// Groups `tiles` into chunks of at most `tiles_per_chunk`. A chunk is data movement only.
std::vector<std::vector<TokenRange>> group_chunks(std::span<const TokenRange> tiles,
                                                  std::int64_t tiles_per_chunk);
TokenRange cover(std::span<const TokenRange> tiles);

}  // namespace rm
