#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/tokens/token_source.h"

namespace rm {

// Documents of `from_tokens` up to twice as many, less one.
struct LengthRange {
    std::int64_t from_tokens = 1;  // a power of two
    std::int64_t documents = 0;
    std::int64_t tokens = 0;
    bool operator==(const LengthRange&) const = default;
};

// How long the documents of a source are.
struct DocumentLengths {
    std::int64_t documents = 0;
    std::int64_t empty = 0;  // of these
    std::int64_t tokens = 0;
    std::int64_t longest = 0;
    std::vector<LengthRange> ranges;  // ascending, from the shortest document's to the longest's
};
DocumentLengths document_lengths(const TokenSource& source);

}  // namespace rm
