#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/memory/arena_trace.h"

namespace rm {

// A pass over many layers, from the requests of two short ones: `few` and `more` differ by one
// period of layers, once in the forward pass and once in the backward pass, and a longer pass
// repeats both. Exact where the middle layers do repeat, which find() checks.
class LayerRepetition {
public:
    // Traces as RequestRecorder writes them. Nothing: no such periods explain the difference.
    static std::optional<LayerRepetition> find(const ArenaTrace& few, const ArenaTrace& more);

    // Peak of live bytes of the pass that is longer than `few` by `periods`.
    Bytes peak(std::int64_t periods) const;

private:
    // Changes of the live bytes, one after the other.
    using Deltas = std::vector<std::int64_t>;
    static Deltas deltas_of(const ArenaTrace& trace);

    Deltas begin_, forward_, middle_, backward_, end_;
};

}  // namespace rm
