#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/layout.h"
#include "base/words.h"

// Where each token of each document of a sequence sits on an attention ring.
namespace rm {

// For each token of a slot in local order, its index in the padded sequence; used to cut data for
// the slot.
std::vector<TokenRange> zigzag_ranges(std::int64_t padded, int ring, int slot);

// How positions (RoPE's) of packed documents count: from 0 in each document, or through the whole
// sequence.
enum class Positions { reset, running };
constexpr auto vocabulary_of(Positions) {
    return vocabulary<Positions>("positions",
                                 {{Positions::reset, "reset"}, {Positions::running, "running"}});
}

// Consecutive tokens of the padded sequence, and the run they form.
struct Piece {
    std::int64_t first = 0;  // index in the padded sequence
    Run run;
    bool operator==(const Piece&) const = default;
};

// The pieces of one sequence that each ring slot holds, in local token order; padded / R tokens
// each. All ranks compute the same layout.
struct DocumentLayout {
    std::vector<std::vector<Piece>> slots;
    bool operator==(const DocumentLayout&) const = default;
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
DocumentLayout place_documents(std::span<const std::int64_t> documents, std::int64_t padded,
                               int ring, Positions positions);

std::vector<Run> runs_of(std::span<const Piece> pieces);

// Query-key pairs by ring step and slot: in step s, slot r attends to the keys of slot r - s.
std::vector<std::vector<std::int64_t>> ring_work(const DocumentLayout& laid_out);

// Slots wait for each other in every step. 1 means perfectly even.
struct RingBalance {
    double worst_step = 1;  // the largest of the steps' max over mean of the slots' work
    double overall = 1;     // sum of the steps' max over sum of their means: the cost of waiting
};
RingBalance ring_balance(const DocumentLayout& laid_out);

}  // namespace rm
