#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/dry_run/predict.h"

namespace rm {

// Three short samples of a long context, each longer than the one before by one period of chunks.
// A figure of a step is a sum over chunks and over pairs of them, so it is a polynomial of degree
// two in the number of periods, and three samples give it for the whole context.
struct SteadyChunks {
    std::array<ChunkSample, 3> samples;
    std::int64_t periods = 0;  // from the first sample to the whole context

    // Nothing: the context is short enough to run whole, or the mode asks for all of it.
    static Result<std::optional<SteadyChunks>> of(const RankSpec& spec, const StageShape& shape,
                                                  const DryRunOptions& options);

    // The value in the whole context of a figure that has these values in the samples.
    double at_end(double first, double second, double third) const;
    Bytes at_end(Bytes first, Bytes second, Bytes third) const;
};

}  // namespace rm
