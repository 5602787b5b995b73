#pragma once

#include <span>

#include "base/fault.h"
#include "base/result.h"
#include "engine/data/text/text_source.h"

namespace rm {

// The text's own entropies, nats per byte, from exact counts: what a model that knows only byte
// frequencies, or only the previous byte, can reach on it. Pairs do not cross documents.
struct TextEntropies {
    double unigram = 0;  // H(x)
    double bigram = 0;   // H(x_t | x_{t-1})
};

// Counts all documents of the sources together; reads everything once, or until it is given up.
Result<TextEntropies> text_entropies(std::span<const TextSource* const> sources,
                                     const Activity& activity);

}  // namespace rm
