#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/memory/arena_trace.h"

namespace rm {

// Extrapolates a pass over many layers from the requests of two short ones: `more` has one period
// of layers more than `few`, in the forward pass and in the backward pass, and a longer pass
// repeats both. Exact where the middle layers do repeat, which find() checks.
class LayerRepetition {
public:
    // Takes traces of RequestRecorder. Nothing: no such period explains their difference.
    static std::optional<LayerRepetition> find(const ArenaTrace& few, const ArenaTrace& more);

    // Peak of live bytes of the pass that is longer than `few` by `periods`.
    Bytes peak(std::int64_t periods) const;

private:
    // Consecutive changes of the live bytes.
    using Deltas = std::vector<std::int64_t>;
    static Deltas deltas_of(const ArenaTrace& trace);

    Deltas begin_, forward_, middle_, backward_, end_;
};

}  // namespace rm
