#include "engine/data/document_lengths.h"

#include <algorithm>
#include <bit>
#include <map>

namespace rm {

DocumentLengths document_lengths(const TokenSource& source) {
    DocumentLengths lengths{.documents = source.num_documents()};
    std::map<std::int64_t, LengthRange> ranges;
    for (std::int64_t i = 0; i < lengths.documents; ++i) {
        const std::int64_t tokens = source.num_tokens(i);
        lengths.longest = std::max(lengths.longest, tokens);
        lengths.tokens += tokens;
        if (tokens == 0) {
            ++lengths.empty;
            continue;
        }
        const auto from =
            static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(tokens)));
        LengthRange& range = ranges[from];
        range.from_tokens = from;
        ++range.documents;
        range.tokens += tokens;
    }
    if (ranges.empty()) return lengths;
    const std::int64_t last = ranges.rbegin()->first;
    for (std::int64_t from = ranges.begin()->first; from <= last; from *= 2) {
        ranges[from].from_tokens = from;  // those without documents too
        lengths.ranges.push_back(ranges[from]);
    }
    return lengths;
}

}  // namespace rm
