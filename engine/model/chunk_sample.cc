#include "engine/model/chunk_sample.h"

#include <algorithm>
#include <cmath>

namespace rm {

namespace {

constexpr std::int64_t kMostPeriod = 16;  // chunks

}  // namespace

KeptPeriod kept_period(const MemoryPolicy& policy) {
    const std::int64_t tiles = std::max<std::int64_t>(1, policy.chunk_tokens / policy.tile_tokens);
    const auto all = static_cast<double>(tiles);
    const double kept = policy.alpha * all;  // of a chunk's tiles
    KeptPeriod best;
    double least = 2;
    for (std::int64_t chunks = 1; chunks <= kMostPeriod; ++chunks) {
        const auto count = static_cast<double>(chunks);
        double tiles_kept = std::round(kept * count);
        // A few tiles that are kept, or that are not, are more than none.
        if (kept > 0 && kept < all) {
            if (all * count < 2) continue;
            tiles_kept = std::clamp(tiles_kept, 1.0, all * count - 1);
        }
        const double share = tiles_kept / count;
        const double error = std::abs(share - kept);
        if (error >= least - 1e-9) continue;
        least = error;
        best = {chunks, error < 1e-9 ? policy.alpha : share / all};
    }
    return best;
}

ChunkSample planning_sample(const MemoryPolicy& policy) {
    const auto slots = static_cast<std::size_t>(policy.prefetch) + 1;
    const KeptPeriod period = kept_period(policy);
    const auto repeated = static_cast<std::size_t>(period.chunks);
    return {.front = 2 * slots + repeated + 2, .back = slots + 1, .alpha = period.alpha};
}

}  // namespace rm
