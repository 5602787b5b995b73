#include "engine/memory/arena_trace.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

Status check_block(std::size_t index, const ArenaBlock& block) {
    if (block.size < Bytes{1} || block.size > kMaxArenaBlock) {
        return invalid_argument("block {}: size {} is not from 1 to 2^60", index, block.size.value);
    }
    if (block.lower < -kMaxArenaTime || block.upper > kMaxArenaTime) {
        return invalid_argument("block {}: the lifetime [{}, {}) is not within 2^60 of 0", index,
                                block.lower, block.upper);
    }
    if (block.lower >= block.upper) {
        return invalid_argument("block {}: the lifetime [{}, {}) is empty; upper must be larger",
                                index, block.lower, block.upper);
    }
    return {};
}

}  // namespace

Status check_trace(const ArenaTrace& trace) {
    Bytes total;
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
        RM_RETURN_IF_ERROR(check_block(i, trace.blocks[i]));
        total += trace.blocks[i].size;
        if (total > kMaxArenaTotal) {
            return invalid_argument("block {}: the sizes up to here add up to more than 2^62", i);
        }
    }
    if (!trace.groups.empty() && trace.groups.size() != trace.blocks.size()) {
        return invalid_argument("{} groups for {} blocks; one for each, or none",
                                trace.groups.size(), trace.blocks.size());
    }
    return {};
}

Bytes peak_live(std::span<const ArenaBlock> blocks) {
    // Ends sort before beginnings at the same time: lifetimes are half open.
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;
    changes.reserve(2 * blocks.size());
    for (const ArenaBlock& block : blocks) {
        changes.emplace_back(block.lower, block.size.value);
        changes.emplace_back(block.upper, -block.size.value);
    }
    std::sort(changes.begin(), changes.end());
    Bytes live, most;
    for (const auto& [time, change] : changes) {
        live += Bytes{change};
        most = std::max(most, live);
    }
    return most;
}

Bytes peak_of(std::span<const ArenaBlock> blocks, std::span<const Bytes> offsets) {
    Bytes peak;
    for (std::size_t i = 0; i < blocks.size(); ++i)
        peak = std::max(peak, offsets[i] + blocks[i].size);
    return peak;
}

}  // namespace rm
