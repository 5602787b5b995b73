#include "engine/memory/arena_sections.h"

#include <algorithm>
#include <numeric>

namespace rm {
namespace {

// A moment starts a section when a block begins at it and another block ends before the next one
// begins: only there no neighbouring moment's live set contains this one's.
std::vector<std::int64_t> section_starts(std::span<const ArenaBlock> blocks) {
    enum Kind { ends, begins };  // in this order at one time
    std::vector<std::pair<std::int64_t, Kind>> events;
    for (const ArenaBlock& block : blocks) {
        events.emplace_back(block.lower, begins);
        events.emplace_back(block.upper, ends);
    }
    std::sort(events.begin(), events.end());
    std::vector<std::int64_t> starts;
    for (std::size_t i = 1; i < events.size(); ++i) {
        if (events[i].second == ends && events[i - 1].second == begins) {
            starts.push_back(events[i - 1].first);
        }
    }
    return starts;
}

int position(const std::vector<std::int64_t>& sorted, std::int64_t value) {
    return static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

}  // namespace

std::vector<std::vector<int>> split_by_time(std::span<const ArenaBlock> blocks) {
    const auto at = [&](int i) -> const ArenaBlock& { return blocks[usize(i)]; };
    std::vector<int> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int i, int j) { return at(i).lower < at(j).lower; });
    std::vector<std::vector<int>> parts;
    std::int64_t covered = 0;
    for (const int i : order) {
        if (parts.empty() || at(i).lower >= covered) {
            parts.emplace_back();
            covered = at(i).upper;
        }
        parts.back().push_back(i);
        covered = std::max(covered, at(i).upper);
    }
    return parts;
}

ArenaSections make_sections(std::span<const ArenaBlock> blocks) {
    const std::vector<std::int64_t> starts = section_starts(blocks);
    ArenaSections sections{static_cast<int>(starts.size()), {}, {}};
    for (const ArenaBlock& block : blocks) {
        sections.first.push_back(position(starts, block.lower));
        sections.end.push_back(position(starts, block.upper));
    }
    return sections;
}

}  // namespace rm
