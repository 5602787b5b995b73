#pragma once

#include "spec/place_documents.h"

namespace rm {

// The runs of slot `slot` in local token order of one document of `context` tokens, cut in zigzag;
// tokens at or past `context` are padding.
inline std::vector<Run> zigzag_runs(std::int64_t context, std::int64_t padded, int ring, int slot,
                                    std::int32_t document) {
    const std::span<const std::int64_t> documents(&context, context > 0 ? 1 : 0);
    const DocumentLayout laid_out = place_documents(documents, padded, ring, Positions::reset);
    std::vector<Run> runs = runs_of(laid_out.slots.at(static_cast<std::size_t>(slot)));
    for (Run& run : runs) {
        if (run.document != kPaddingDocument) run.document = document;
    }
    return runs;
}

}  // namespace rm
