#include "engine/dry_run/steady_chunks.h"

#include <algorithm>

#include "engine/windows/rank_layout.h"

namespace rm {
namespace {

constexpr std::int64_t kBack = 2;  // chunks: the last one may be short
// Chunks of the first sample. Bytes and FLOPs are steady at once; times are steady only once the
// transfers for a chunk of queries hide behind its attention, or never do.
constexpr std::int64_t kUntimed = 6;
constexpr std::int64_t kTimed = 16;
// From one sample to the next: waits alternate with the buffers that chunks take in turn, and what
// is left of that is multiplied by the square of the number of steps to the whole context.
constexpr std::int64_t kApart = 6;

template <typename T>
T quadratic(T first, T second, T third, std::int64_t periods) {
    const T along = second - first;
    const T bend = third - second - along;
    return first + static_cast<T>(periods) * along +
           static_cast<T>(periods * (periods - 1) / 2) * bend;
}

// The fewest chunks that a sample needs, and more so that whole periods lead to `chunks`.
std::int64_t first_sample(std::int64_t least, std::int64_t chunks, std::int64_t period) {
    return least + (chunks - least % period) % period;
}

// Windows in a ring: the slot's two pieces see different shares of the other slots, so that a
// sample has as many chunks of one as of the other.
bool halves(const RankLayout& layout) {
    return layout.in_windows() && layout.ring > 1;
}

ChunkSample sample_of(const RankLayout& layout, std::int64_t count, double alpha) {
    if (halves(layout)) {
        const auto odd = static_cast<std::int64_t>(layout.chunks.size() % 2);
        return {.front = usize(count),
                .back = usize(kBack),
                .middle = usize(count + odd - kBack),
                .alpha = alpha};
    }
    return {
        .front = usize(count - kBack),
        .back = usize(kBack),
        .queries = layout.in_windows() ? ChunkSample::Queries::sampled : ChunkSample::Queries::all,
        .alpha = alpha};
}

// About how much is recorded for so many chunks: in windows, their pairs.
std::int64_t cost(const RankLayout& layout, std::int64_t chunks) {
    return layout.in_windows() ? chunks * chunks : chunks;
}

// After how many chunks the same work repeats: the pattern of kept tiles, and tiles that take turns
// on as many lanes.
KeptPeriod repeats(const RankLayout& layout) {
    KeptPeriod period = kept_period(layout.memory);
    const std::int64_t tiles = layout.slot_chunk_tokens() / layout.memory.tile_tokens;
    if (period.chunks * tiles % layout.lanes() != 0) period.chunks *= layout.lanes();
    return period;
}

}  // namespace

Result<std::optional<SteadyChunks>> SteadyChunks::of(const RankSpec& spec, const StageShape& shape,
                                                     const DryRunOptions& options) {
    if (shape.sample || options.mode != DryRunMode::steady) return std::optional<SteadyChunks>();
    RM_TRY(const RankLayout layout,
           make_rank_layout(shape.context, spec.mesh, spec.rank, shape.memory));
    const std::int64_t parts = halves(layout) ? 2 : 1;
    const std::int64_t chunks = std::ssize(layout.chunks) / parts;
    const KeptPeriod period = repeats(layout);
    const std::int64_t least =
        std::max<std::int64_t>((options.profile == nullptr ? kUntimed : kTimed) / parts,
                               2 * (shape.memory.prefetch + 2)) +
        kBack;
    const std::int64_t apart = (std::max<std::int64_t>(1, kApart / parts) + period.chunks - 1) /
                               period.chunks * period.chunks;
    // A whole number of steps below all chunks, so that the pattern of kept tiles continues.
    const std::int64_t first = first_sample(least, chunks, apart);
    const std::int64_t samples =
        cost(layout, first) + cost(layout, first + apart) + cost(layout, first + 2 * apart);
    if (cost(layout, chunks) <= samples) return std::optional<SteadyChunks>();
    SteadyChunks steady;
    steady.periods = (chunks - first) / apart;
    for (std::int64_t i = 0; i < 3; ++i)
        steady.samples[usize(i)] = sample_of(layout, first + i * apart, period.alpha);
    return std::optional(steady);
}

double SteadyChunks::at_end(double first, double second, double third) const {
    return quadratic(first, second, third, periods);
}

Bytes SteadyChunks::at_end(Bytes first, Bytes second, Bytes third) const {
    return {quadratic(first.value, second.value, third.value, periods)};
}

}  // namespace rm
