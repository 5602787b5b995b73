#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/data/text_corpus.h"

namespace rm {

// A part of a document, used as a document of its own.
struct DocumentSpan {
    std::int64_t document = 0;  // index into TextCorpus::documents()
    std::int64_t first = 0;     // byte
    std::int64_t bytes = 0;
    bool operator==(const DocumentSpan&) const = default;
};

// What is trained on, or what is held out. Each span is followed by one end-of-document token.
struct DocumentSet {
    std::vector<DocumentSpan> spans;
    std::int64_t num_bytes() const;
    std::int64_t num_tokens() const;  // bytes + ends of documents
};

struct Split {
    DocumentSet train;     // in the corpus's order
    DocumentSet held_out;  // in the order in which the seed chose them
};

// Holds out about `fraction` (0 <= fraction < 1) of the bytes; no byte is in both sets. Whole
// documents are taken in an order drawn from `seed` until the fraction is reached, passing over any
// that would hold out more than twice of it; what is still missing (all of it, when there is one
// document) is the end of the first document passed over.
Result<Split> split_held_out(const TextCorpus& corpus, double fraction, std::uint64_t seed);

// 0 .. count-1 in an order drawn from `seed`, the same on every machine.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed);

}  // namespace rm
