#include "engine/memory/arena_validator.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace rm {
namespace {

Error wrong(std::string_view pattern, const auto&... args) {
    return make_error(ErrorCode::failed_precondition, pattern, args...);
}

Status check_pair(const ArenaTrace& trace, const ArenaPlan& plan, std::size_t i, std::size_t j) {
    if (i > j) std::swap(i, j);
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

// Sorts blocks that live at one time by offset: as long as none overlap, a new one that overlaps
// with any does so with one of its two neighbours.
Status check_pairs(const ArenaTrace& trace, const ArenaPlan& plan) {
    using Edge = std::pair<std::int64_t, std::size_t>;  // time, block
    std::vector<Edge> begins, ends;
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
        begins.emplace_back(trace.blocks[i].lower, i);
        ends.emplace_back(trace.blocks[i].upper, i);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    std::map<std::int64_t, std::size_t> live;
    std::size_t num_ended = 0;
    for (const auto& [time, i] : begins) {
        for (; ends[num_ended].first <= time; ++num_ended)
            live.erase(plan.offsets[ends[num_ended].second].value);
        const auto [place, is_new] = live.try_emplace(plan.offsets[i].value, i);
        if (!is_new) return check_pair(trace, plan, i, place->second);
        if (place != live.begin())
            RM_RETURN_IF_ERROR(check_pair(trace, plan, i, std::prev(place)->second));
        if (const auto above = std::next(place); above != live.end())
            RM_RETURN_IF_ERROR(check_pair(trace, plan, i, above->second));
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
