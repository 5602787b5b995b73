#include "engine/memory/arena_search.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace rm {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::size_t at(int index) {
    return usize(index);
}

// Blocks by time; each lives together with later ones until the first that begins after its end.
std::vector<std::vector<int>> find_neighbours(const std::vector<int>& by_time,
                                              const ArenaSections& sections) {
    std::vector<std::vector<int>> neighbours(by_time.size());
    for (std::size_t i = 0; i < by_time.size(); ++i) {
        const int block = by_time[i];
        for (std::size_t j = i + 1; j < by_time.size(); ++j) {
            const int later = by_time[j];
            if (sections.first[at(later)] >= sections.end[at(block)]) break;
            neighbours[at(block)].push_back(later);
            neighbours[at(later)].push_back(block);
        }
    }
    return neighbours;
}

std::vector<int> sort_by_time(const ArenaSections& sections) {
    std::vector<int> order(sections.first.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int i, int j) { return sections.first[at(i)] < sections.first[at(j)]; });
    return order;
}

double key_value(const SearchProblem& problem, int block, SearchKey key, std::int64_t total) {
    const auto lifetime = static_cast<double>(problem.lifetimes[at(block)]);
    const auto size = static_cast<double>(problem.sizes[at(block)]);
    switch (key) {
        case SearchKey::total:
            return static_cast<double>(total);
        case SearchKey::lifetime:
            return lifetime;
        case SearchKey::area:
            return lifetime * size;
        case SearchKey::size:
            return size;
    }
    return 0;
}

// Sorts the blocks by the keys, the largest first; ties keep their order. `totals`: of each
// section, from the blocks' first section on.
std::vector<int> ordered(const SearchProblem& problem, std::vector<int> blocks,
                         const SearchKeys& keys, const std::vector<std::int64_t>& totals) {
    struct Ranked {
        std::array<double, 3> values{};
        int block = 0;
    };
    std::vector<Ranked> ranked;
    for (const int block : blocks) {
        const auto begin = totals.begin();
        const std::int64_t total = *std::max_element(begin + problem.sections.first[at(block)],
                                                     begin + problem.sections.end[at(block)]);
        Ranked next{{}, block};
        for (std::size_t k = 0; k < keys.size(); ++k)
            next.values[k] = key_value(problem, block, keys[k], total);
        ranked.push_back(next);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.values > b.values; });
    for (std::size_t i = 0; i < ranked.size(); ++i)
        blocks[i] = ranked[i].block;
    return blocks;
}

}  // namespace

SearchProblem::SearchProblem(std::span<const ArenaBlock> blocks)
    : num_blocks(static_cast<int>(blocks.size())), sections(make_sections(blocks)) {
    for (const ArenaBlock& block : blocks) {
        sizes.push_back(block.size.value);
        lifetimes.push_back(block.upper - block.lower);
    }
    by_time = sort_by_time(sections);
    neighbours = find_neighbours(by_time, sections);
}

std::vector<int> rank_blocks(const SearchProblem& problem, const SearchKeys& keys) {
    std::vector<std::int64_t> totals(at(problem.sections.num_sections));
    std::vector<int> blocks(at(problem.num_blocks));
    std::iota(blocks.begin(), blocks.end(), 0);
    for (const int block : blocks) {
        for (int s = problem.sections.first[at(block)]; s < problem.sections.end[at(block)]; ++s)
            totals[at(s)] += problem.sizes[at(block)];
    }
    const std::vector<int> order = ordered(problem, std::move(blocks), keys, totals);
    std::vector<int> rank(order.size());
    for (std::size_t place = 0; place < order.size(); ++place)
        rank[at(order[place])] = static_cast<int>(place);
    return rank;
}

ArenaSearch::ArenaSearch(const SearchProblem& problem, std::vector<int> rank, SearchKeys keys,
                         Ranking ranking)
    : problem_(problem),
      rank_(std::move(rank)),
      keys_(keys),
      ranking_(ranking),
      stacked_(at(problem.sections.num_sections)) {
    RM_CHECK(rank_.size() == at(problem.num_blocks), "{} ranks for {} blocks", rank_.size(),
             problem.num_blocks);
}

ArenaSearch::Verdict ArenaSearch::run(std::int64_t target, std::int64_t max_nodes,
                                      const std::function<bool()>& interrupted) {
    target_ = target;
    nodes_left_ = max_nodes;
    interrupted_ = &interrupted;
    reset();
    if (place_all(problem_.by_time, {0, -1})) return Verdict::placed;
    return stopped_ ? Verdict::stopped : Verdict::impossible;
}

void ArenaSearch::reset() {
    const std::size_t num_blocks = at(problem_.num_blocks);
    stopped_ = false;
    least_peak_ = kNever;
    offsets_.assign(num_blocks, 0);
    floors_.assign(num_blocks, 0);
    lows_.assign(num_blocks, 0);
    to_come_.assign(num_blocks, 1);
    lifted_.clear();
}

bool ArenaSearch::is_out_of_budget() {
    if (!stopped_) stopped_ = --nodes_left_ < 0 || (*interrupted_)();
    return stopped_;
}

// Whether `top` is above the target. The lowest top that ever exceeded it bounds every plan: the
// search would have found one with a lower peak.
bool ArenaSearch::exceeds(std::int64_t top) {
    if (top <= target_) return false;
    least_peak_ = std::min(least_peak_, top);
    return true;
}

bool ArenaSearch::place_all(const Items& items, Frontier frontier) {
    if (items.empty()) return true;
    if (is_out_of_budget()) return false;
    std::vector<Items> parts = split(items);
    if (parts.size() > 1) return place_parts(std::move(parts), frontier);
    return items.size() == 1 ? place_single(items[0]) : branch(items, frontier);
}

std::vector<ArenaSearch::Items> ArenaSearch::split(const Items& items) const {
    std::vector<Items> parts;
    int covered = -1;
    for (const int block : items) {
        if (problem_.sections.first[at(block)] >= covered) parts.emplace_back();
        parts.back().push_back(block);
        covered = std::max(covered, problem_.sections.end[at(block)]);
    }
    return parts;
}

// Parts are independent: when one has no plan, no choice in another helps. Tests all parts before
// it searches any, the smallest first. The branch above takes back the placements that a part
// leaves, with its items.
bool ArenaSearch::place_parts(std::vector<Items> parts, Frontier frontier) {
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Items& a, const Items& b) { return a.size() < b.size(); });
    const auto fits = [&](const Items& part) { return may_fit(part, frontier); };
    if (!std::all_of(parts.begin(), parts.end(), fits)) return false;
    std::vector<std::pair<int, int>> before;
    for (const Items& part : parts) {
        for (const int block : part)
            before.emplace_back(block, rank_[at(block)]);
    }
    const auto place = [&](const Items& part) {
        return part.size() == 1 || ranking_ == Ranking::kept
                   ? place_all(part, frontier)
                   : place_all(part, rank_again(part, frontier));
    };
    if (std::all_of(parts.begin(), parts.end(), place)) return true;
    for (const auto& [block, rank] : before)
        rank_[at(block)] = rank;
    return false;
}

bool ArenaSearch::may_fit(const Items& items, Frontier frontier) {
    return raise_lows(items, frontier) && sections_fit(items);
}

// Ranks the blocks by the part's own totals, which may_fit has left. Blocks at the frontier whose
// turn has passed stay before it, all others come after it.
ArenaSearch::Frontier ArenaSearch::rank_again(const Items& part, Frontier frontier) {
    int num_passed = 0;
    std::vector<int> blocks = ordered(problem_, part, keys_, stacked_);
    std::stable_partition(blocks.begin(), blocks.end(), [&](int block) {
        const bool passed =
            floors_[at(block)] == frontier.offset && rank_[at(block)] < frontier.rank;
        num_passed += passed ? 1 : 0;
        return passed;
    });
    for (std::size_t i = 0; i < blocks.size(); ++i)
        rank_[at(blocks[i])] = static_cast<int>(i);
    return {frontier.offset, num_passed};
}

bool ArenaSearch::place_single(int block) {
    offsets_[at(block)] = floors_[at(block)];
    return !exceeds(floors_[at(block)] + problem_.sizes[at(block)]);
}

bool ArenaSearch::branch(const Items& items, Frontier frontier) {
    if (!may_fit(items, frontier)) return false;
    const std::int64_t fullest = fullest_section(items);
    for (const int block : candidates(items, frontier)) {
        // No block to come lies lower than the next one.
        if (exceeds(floors_[at(block)] + fullest)) return false;
        const std::size_t num_lifted = lifted_.size();
        Items rest;
        rest.reserve(items.size() - 1);
        std::copy_if(items.begin(), items.end(), std::back_inserter(rest),
                     [block](int item) { return item != block; });
        place(block);
        if (place_all(rest, {offsets_[at(block)], rank_[at(block)]})) return true;
        take_back(items, num_lifted);
        if (stopped_) return false;
    }
    return false;
}

// The block's turn has passed: it must wait until a block below lifts it.
bool ArenaSearch::is_past(int block, Frontier frontier) const {
    const std::int64_t floor = floors_[at(block)];
    return floor < frontier.offset ||
           (floor == frontier.offset && rank_[at(block)] < frontier.rank);
}

// Raises each block's lowest offset to its floor and to the frontier, and a block whose turn has
// passed onto a block still to come. False: no such block exists, so this order is dominated.
bool ArenaSearch::raise_lows(const Items& items, Frontier frontier) {
    for (const int block : items)
        lows_[at(block)] = std::max(floors_[at(block)], frontier.offset);
    for (int pass = 0; pass < 2; ++pass) {
        bool raised = false;
        if (!raise_past(items, frontier, raised)) return false;
        if (!raised) return true;
    }
    return true;
}

bool ArenaSearch::raise_past(const Items& items, Frontier frontier, bool& raised) {
    for (const int block : items) {
        if (!is_past(block, frontier)) continue;
        std::int64_t support = kNever;
        for (const int other : problem_.neighbours[at(block)]) {
            if (!to_come_[at(other)]) continue;
            support = std::min(support, lows_[at(other)] + problem_.sizes[at(other)]);
        }
        if (support == kNever) return false;
        raised = raised || support > lows_[at(block)];
        lows_[at(block)] = std::max(lows_[at(block)], support);
    }
    return true;
}

// Call it after sections_fit().
std::int64_t ArenaSearch::fullest_section(const Items& items) const {
    std::int64_t fullest = 0;
    for (const int block : items) {
        const auto begin = stacked_.begin();
        fullest = std::max(fullest, *std::max_element(begin + problem_.sections.first[at(block)],
                                                      begin + problem_.sections.end[at(block)]));
    }
    return fullest;
}

// In one section, blocks that cannot lie below x occupy at least the bytes [x, x + their sizes).
// Checks this for every x and section in one sweep, from the highest block down.
bool ArenaSearch::sections_fit(const Items& items) {
    const int first = problem_.sections.first[at(items.front())];
    int end = first;
    for (const int block : items)
        end = std::max(end, problem_.sections.end[at(block)]);
    std::fill(stacked_.begin() + first, stacked_.begin() + end, 0);
    by_low_ = items;
    std::sort(by_low_.begin(), by_low_.end(),
              [this](int i, int j) { return lows_[at(i)] > lows_[at(j)]; });
    return std::all_of(by_low_.begin(), by_low_.end(),
                       [this](int block) { return add_to_sections(block); });
}

bool ArenaSearch::add_to_sections(int block) {
    const std::int64_t size = problem_.sizes[at(block)];
    const std::int64_t top = lows_[at(block)] + size;
    const int end = problem_.sections.end[at(block)];
    for (int s = problem_.sections.first[at(block)]; s < end; ++s) {
        if (exceeds(stacked_[at(s)] + top)) return false;
        stacked_[at(s)] += size;
    }
    return true;
}

// The blocks that may come next, the lowest first. Stops at the lowest top that a block to come
// could have: a block placed above it would leave that one a hole to move down into.
ArenaSearch::Items ArenaSearch::candidates(const Items& items, Frontier frontier) const {
    std::int64_t lowest_top = kNever;
    for (const int block : items)
        lowest_top = std::min(lowest_top, floors_[at(block)] + problem_.sizes[at(block)]);
    Items found;
    std::copy_if(items.begin(), items.end(), std::back_inserter(found), [&](int block) {
        return !is_past(block, frontier) && floors_[at(block)] < lowest_top;
    });
    std::sort(found.begin(), found.end(), [this](int i, int j) {
        return std::pair(floors_[at(i)], rank_[at(i)]) < std::pair(floors_[at(j)], rank_[at(j)]);
    });
    return found;
}

void ArenaSearch::place(int block) {
    const std::int64_t top = floors_[at(block)] + problem_.sizes[at(block)];
    offsets_[at(block)] = floors_[at(block)];
    to_come_[at(block)] = 0;
    for (const int other : problem_.neighbours[at(block)]) {
        if (!to_come_[at(other)] || floors_[at(other)] >= top) continue;
        lifted_.push_back({other, floors_[at(other)]});
        floors_[at(other)] = top;
    }
}

// Undoes the whole branch below, including the placements of its solved parts.
void ArenaSearch::take_back(const Items& items, std::size_t num_lifted) {
    for (; lifted_.size() > num_lifted; lifted_.pop_back())
        floors_[at(lifted_.back().block)] = lifted_.back().floor;
    for (const int item : items)
        to_come_[at(item)] = 1;
}

}  // namespace rm
