#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/data/tokens/token_source.h"

namespace rm {

// A part of a document, used as its own document.
struct DocumentSpan {
    std::int64_t document = 0;  // of the TokenSource
    std::int64_t first = 0;     // token
    std::int64_t tokens = 0;
    bool operator==(const DocumentSpan&) const = default;
};

// Documents to train on, or documents held out.
struct DocumentSet {
    std::vector<DocumentSpan> spans;
    std::optional<TokenId> end;  // follows each span

    std::int64_t num_stored() const;  // tokens of the spans
    std::int64_t num_tokens() const;  // those and the ends
};

struct Split {
    DocumentSet train;     // in the source's order
    DocumentSet held_out;  // in the order in which the seed chose them
};

// Holds out about `fraction` (0 <= fraction < 1) of the tokens; no token is in both sets. Takes
// whole documents in an order drawn from `seed` until it reaches the fraction, skipping any that
// would hold out more than twice that; the end of the first skipped document makes up the rest
// (all of it, if there is only one document). Empty documents are in neither set.
Result<Split> split_held_out(const TokenSource& source, double fraction, std::uint64_t seed);

// 0 .. count-1 in an order drawn from `seed`, the same on every machine.
std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed);

}  // namespace rm
