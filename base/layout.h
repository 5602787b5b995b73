#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "base/mesh.h"
#include "base/result.h"

// Where each token of each document sits. Runs are the only mask: causal, document and padding
// masks, skipped tiles and FLOP counts all follow from them.
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

// Tokens to which a sequence of `context` tokens is padded on `mesh`: the next multiple of
// 2 x ring x ulysses x tensor x 16. Above 10 % waste, returns an error that names the nearest
// contexts that fit.
Result<std::int64_t> padded_length(std::int64_t context, const Mesh& mesh);

// Zigzag: the padded sequence is cut into 2R pieces and ring slot r holds pieces r and 2R-1-r, so
// that each slot sees the same number of query-key pairs (Brandon et al., Striped/zigzag ring
// attention). Returns the runs of slot `slot` in local token order; tokens at or past `context` are
// padding.
std::vector<Run> zigzag_runs(std::int64_t context, std::int64_t padded, int ring, int slot,
                             std::int32_t document);

// For each token of a slot in local order, its index in the padded sequence; used to cut data for
// the slot.
std::vector<TokenRange> zigzag_ranges(std::int64_t padded, int ring, int slot);

// How positions (RoPE's) of packed documents count: from 0 in each document, or through the whole
// sequence.
enum class Positions { reset, running };

// Consecutive tokens of the padded sequence, and the run they form.
struct Piece {
    std::int64_t first = 0;  // index in the padded sequence
    Run run;
    bool operator==(const Piece&) const = default;
};

// The pieces of one sequence that each ring slot holds, in local token order; padded / R tokens
// each. All ranks compute the same placement.
struct Placement {
    std::vector<std::vector<Piece>> slots;
    bool operator==(const Placement&) const = default;
};

// Places a sequence of documents with these lengths, in this order, then padding, so that ring
// slots hold equal numbers of tokens and do near equal attention work in every ring step. A
// document longer than 64 R 16 tokens is zigzag-cut (2R pieces that differ by at most a token, slot
// r holds pieces r and 2R-1-r; Brandon et al., Striped Attention; zigzag as in
// ring-flash-attention); the others go whole, largest first, to the slot with the least work, and
// are cut only to keep token counts equal. If that leaves more than 2 % imbalance, the largest of
// the others are zigzag-cut too, as few as suffice. A single document is plain zigzag of the padded
// sequence. `padded` is a multiple of 2R and at least the sum of `documents`; runs name a document
// by its index in the list.
Placement place_documents(std::span<const std::int64_t> documents, std::int64_t padded, int ring,
                          Positions positions);

std::vector<Run> runs_of(std::span<const Piece> pieces);

// Query-key pairs by ring step and slot: in step s, slot r attends to the keys of slot r - s.
std::vector<std::vector<std::int64_t>> ring_work(const Placement& placement);

// Slots wait for each other in every step. 1 means perfectly even.
struct RingBalance {
    double worst_step = 1;  // the largest of the steps' max over mean of the slots' work
    double overall = 1;     // sum of the steps' max over sum of their means: the cost of waiting
};
RingBalance ring_balance(const Placement& placement);

}  // namespace rm
