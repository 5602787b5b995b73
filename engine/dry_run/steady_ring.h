#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/dry_run/predict.h"

namespace rm {

// Two short rings, the second by one block longer than the first in every round, or by one round.
// In windows a rank's work grows by the same with each further block, so the two give the figure of
// the whole ring. A double ring is first cut by steps, then its samples by rounds.
struct SteadyRing {
    std::array<RingSample, 2> samples;
    std::int64_t periods = 0;  // from the first sample to the whole ring

    // Nothing: whole layers, a short ring, or the mode asks for all blocks.
    static Result<std::optional<SteadyRing>> of(const RankSpec& spec, const StageShape& shape,
                                                const DryRunOptions& options);

    // The figure in the whole ring.
    double at_end(double first, double second) const {
        return first + static_cast<double>(periods) * (second - first);
    }
};

}  // namespace rm
