#include "engine/dry_run/steady_chunks.h"

#include <algorithm>

#include "engine/windows/rank_layout.h"

namespace rm {
namespace {

constexpr std::int64_t kBack = 2;  // chunks: the last one may be short
// Chunks of the first sample. Bytes and FLOPs are steady at once; times are steady only once the
// transfers for a chunk of queries hide behind its attention, or never do.
constexpr std::int64_t kUntimed = 6;
constexpr std::int64_t kTimed = 24;

template <typename T>
T quadratic(T first, T second, T third, std::int64_t periods) {
    const T along = second - first;
    const T bend = third - second - along;
    return first + static_cast<T>(periods) * along +
           static_cast<T>(periods * (periods - 1) / 2) * bend;
}

}  // namespace

Result<std::optional<SteadyChunks>> SteadyChunks::of(const RankSpec& spec, const StageShape& shape,
                                                     const DryRunOptions& options) {
    if (shape.sample || options.mode != DryRunMode::steady) return std::optional<SteadyChunks>();
    RM_TRY(const RankLayout layout,
           make_rank_layout(shape.context, spec.mesh, spec.rank, shape.memory));
    const auto chunks = static_cast<std::int64_t>(layout.chunks.size());
    const KeptPeriod period = kept_period(shape.memory);
    const std::int64_t least =
        std::max<std::int64_t>(options.profile == nullptr ? kUntimed : kTimed,
                               2 * (shape.memory.prefetch + 2)) +
        kBack;
    // A whole number of periods below all chunks, so that the pattern of kept tiles continues.
    const std::int64_t first = least + (chunks - least % period.chunks) % period.chunks;
    if (chunks <= first + 2 * period.chunks) return std::optional<SteadyChunks>();
    SteadyChunks steady;
    steady.periods = (chunks - first) / period.chunks;
    const bool whole = shape.memory.working == WorkingSet::whole;
    for (std::int64_t i = 0; i < 3; ++i) {
        const std::int64_t count = first + i * period.chunks;
        steady.samples[usize(i)] = {
            .front = usize(count - kBack),
            .back = usize(kBack),
            .queries = whole ? ChunkSample::Queries::all : ChunkSample::Queries::sampled,
            .alpha = period.alpha};
    }
    return std::optional(steady);
}

double SteadyChunks::at_end(double first, double second, double third) const {
    return quadratic(first, second, third, periods);
}

Bytes SteadyChunks::at_end(Bytes first, Bytes second, Bytes third) const {
    return {quadratic(first.value, second.value, third.value, periods)};
}

}  // namespace rm
