#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/units.h"

// The blocks of an arena, and their places. An arena is one allocation; its blocks get their
// offsets before the run, from the trace of every request's size and lifetime.
namespace rm {

// Live on the half-open interval [lower, upper) of an integer time: compute-stream order in the
// engine, anything in a file.
struct ArenaBlock {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    Bytes size;
};
inline bool live_together(const ArenaBlock& a, const ArenaBlock& b) {
    return a.lower < b.upper && b.lower < a.upper;
}

inline constexpr int kNoGroup = -1;

// Blocks of one group (a layer) are placed relative to each other first (plan_grouped).
struct ArenaTrace {
    std::vector<ArenaBlock> blocks;
    std::vector<int> groups;  // of each block, or kNoGroup; empty: no block has one
};

struct ArenaPlan {
    std::vector<Bytes> offsets;  // of each block, from the start of the arena
    Bytes peak;                  // the largest offset + size
};

// Above these a sum of sizes or a difference of times might not be an int64.
inline constexpr std::int64_t kMaxArenaTime = std::int64_t{1} << 60;
inline constexpr Bytes kMaxArenaBlock{std::int64_t{1} << 60};
inline constexpr Bytes kMaxArenaTotal{std::int64_t{1} << 62};

// Every block has a size of 1 to kMaxArenaBlock and a lifetime that is not empty, all sizes
// together are at most kMaxArenaTotal, and there are no groups or one for each block. The error
// names the first block that is wrong, by its place in the trace.
Status check_trace(const ArenaTrace& trace);

// The most bytes that are live at one time: no plan has a lower peak. Zero without blocks.
Bytes peak_live(std::span<const ArenaBlock> blocks);

Bytes peak_of(std::span<const ArenaBlock> blocks, std::span<const Bytes> offsets);

}  // namespace rm
