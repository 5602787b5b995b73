#include "engine/memory/arena_validator.h"

#include <algorithm>
#include <numeric>

namespace rm {
namespace {

Error wrong(std::string_view pattern, const auto&... args) {
    return make_error(ErrorCode::failed_precondition, pattern, args...);
}

Status check_pair(const ArenaTrace& trace, const ArenaPlan& plan, std::size_t i, std::size_t j) {
    const ArenaBlock& a = trace.blocks[i];
    const ArenaBlock& b = trace.blocks[j];
    const bool apart_in_time = a.upper <= b.lower || b.upper <= a.lower;
    const std::int64_t a_begin = plan.offsets[i].value, a_end = a_begin + a.size.value;
    const std::int64_t b_begin = plan.offsets[j].value, b_end = b_begin + b.size.value;
    const bool apart_in_space = a_end <= b_begin || b_end <= a_begin;
    if (apart_in_time || apart_in_space) return {};
    return wrong(
        "blocks {} and {} live together and share bytes: [{}, {}) x [{}, {}) and [{}, {}) x [{}, "
        "{})",
        i, j, a.lower, a.upper, a_begin, a_end, b.lower, b.upper, b_begin, b_end);
}

// Every block with those that began before it and have not ended.
Status check_pairs(const ArenaTrace& trace, const ArenaPlan& plan) {
    std::vector<std::size_t> by_begin(trace.blocks.size());
    std::iota(by_begin.begin(), by_begin.end(), std::size_t{0});
    std::stable_sort(by_begin.begin(), by_begin.end(), [&](std::size_t i, std::size_t j) {
        return trace.blocks[i].lower < trace.blocks[j].lower;
    });
    std::vector<std::size_t> live;
    for (const std::size_t i : by_begin) {
        std::erase_if(
            live, [&](std::size_t j) { return trace.blocks[j].upper <= trace.blocks[i].lower; });
        for (const std::size_t j : live)
            RM_RETURN_IF_ERROR(check_pair(trace, plan, std::min(i, j), std::max(i, j)));
        live.push_back(i);
    }
    return {};
}

}  // namespace

Status validate_arena(const ArenaTrace& trace, const ArenaPlan& plan,
                      std::optional<Bytes> capacity) {
    const std::size_t num_blocks = trace.blocks.size();
    if (plan.offsets.size() != num_blocks) {
        return wrong("{} offsets for {} blocks", plan.offsets.size(), num_blocks);
    }
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < num_blocks; ++i) {
        const std::int64_t begin = plan.offsets[i].value;
        if (begin < 0 || begin > kMaxArenaTotal.value) {
            return wrong("block {}: offset {} is not from 0 to 2^62", i, begin);
        }
        peak = std::max(peak, begin + trace.blocks[i].size.value);
    }
    RM_RETURN_IF_ERROR(check_pairs(trace, plan));
    if (peak != plan.peak.value) {
        return wrong("the plan's peak is {} and not {}", peak, plan.peak.value);
    }
    if (capacity && peak > capacity->value) {
        return wrong("the plan's peak {} is above the capacity {}", peak, capacity->value);
    }
    return {};
}

}  // namespace rm
