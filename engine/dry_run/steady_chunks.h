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

    // Nothing: the context is so short that all of it is gone over, or the mode asks for that.
    static Result<std::optional<SteadyChunks>> of(const RankSpec& spec, const StageShape& shape,
                                                  const DryRunOptions& options);

    double at_end(const std::array<double, 3>& values) const;
    Bytes at_end(const std::array<Bytes, 3>& values) const;
};

}  // namespace rm
