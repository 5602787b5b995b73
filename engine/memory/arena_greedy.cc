#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "engine/memory/arena_solver.h"

namespace rm {
namespace {

using Order = std::vector<std::size_t>;
enum class Fit { lowest, tightest };

double lifetime(const ArenaBlock& block) {
    return static_cast<double>(block.upper - block.lower);
}
double area(const ArenaBlock& block) {
    return lifetime(block) * static_cast<double>(block.size.value);
}

// Ties keep the trace's order.
template <typename Less>
Order sorted(std::span<const ArenaBlock> blocks, Less less) {
    Order order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return less(blocks[i], blocks[j]); });
    return order;
}

enum class By { size, lifetime, area, begin, end };
constexpr By kOrders[] = {By::size, By::lifetime, By::area, By::begin, By::end};

Order make_order(std::span<const ArenaBlock> blocks, By by) {
    using B = const ArenaBlock&;
    switch (by) {
        case By::size:
            return sorted(blocks, [](B a, B b) { return a.size > b.size; });
        case By::lifetime:
            return sorted(blocks, [](B a, B b) { return lifetime(a) > lifetime(b); });
        case By::area:
            return sorted(blocks, [](B a, B b) { return area(a) > area(b); });
        case By::begin:
            return sorted(blocks, [](B a, B b) { return a.lower < b.lower; });
        case By::end:
            return sorted(blocks, [](B a, B b) { return a.upper > b.upper; });
    }
    return {};
}

// The placed blocks, by their offset.
class Placed {
public:
    Placed(std::span<const ArenaBlock> blocks, std::vector<Bytes>& offsets)
        : blocks_(blocks), offsets_(offsets) {
        by_offset_.reserve(blocks.size());
    }

    void place(std::size_t index, Fit fit) {
        offsets_[index] = offset_for(blocks_[index], fit);
        const auto lower = [this](std::size_t i, std::size_t j) {
            return offsets_[i] < offsets_[j];
        };
        by_offset_.insert(std::lower_bound(by_offset_.begin(), by_offset_.end(), index, lower),
                          index);
    }

private:
    Bytes offset_for(const ArenaBlock& block, Fit fit) const {
        Bytes top, best;
        std::int64_t best_gap = std::numeric_limits<std::int64_t>::max();
        for (const std::size_t i : by_offset_) {
            if (!live_together(blocks_[i], block)) continue;
            const std::int64_t gap = offsets_[i].value - top.value;
            if (gap >= block.size.value && gap < best_gap) {
                if (fit == Fit::lowest) return top;
                best = top, best_gap = gap;
            }
            top = std::max(top, offsets_[i] + blocks_[i].size);
        }
        return best_gap == std::numeric_limits<std::int64_t>::max() ? top : best;
    }

    std::span<const ArenaBlock> blocks_;
    std::vector<Bytes>& offsets_;
    Order by_offset_;
};

// Nothing: the limits were reached before every block had an offset.
std::optional<ArenaPlan> place_in_order(std::span<const ArenaBlock> blocks, const Order& order,
                                        Fit fit, const ArenaLimits& limits) {
    ArenaPlan plan{std::vector<Bytes>(blocks.size()), {}};
    Placed placed(blocks, plan.offsets);
    for (const std::size_t index : order) {
        if (limits.reached()) return std::nullopt;
        placed.place(index, fit);
    }
    plan.peak = peak_of(blocks, plan.offsets);
    return plan;
}

// The free bytes below the top, as an online allocator sees them.
class FreeRanges {
public:
    // From the tightest free range that fits, otherwise at the top.
    Bytes take(Bytes size) {
        const auto fit = by_size_.lower_bound({size, Bytes{0}});
        if (fit == by_size_.end()) return grow(size);
        const auto [length, offset] = *fit;
        remove(offset, length);
        if (length > size) add(offset + size, Bytes{length.value - size.value});
        return offset;
    }
    void give(Bytes offset, Bytes size) {
        const auto after = by_offset_.lower_bound(offset);
        if (after != by_offset_.end() && after->first == offset + size) {
            const Bytes joined = after->second;
            remove(offset + size, joined);
            size += joined;
        }
        const auto next = by_offset_.lower_bound(offset);
        if (next != by_offset_.begin()) {
            const auto [begin, length] = *std::prev(next);
            if (begin + length == offset) {
                remove(begin, length);
                offset = begin;
                size += length;
            }
        }
        add(offset, size);
    }

private:
    // Extends a free range that ends at the top.
    Bytes grow(Bytes size) {
        Bytes offset = top_;
        if (!by_offset_.empty()) {
            const auto [begin, length] = *by_offset_.rbegin();
            if (begin + length == top_) {
                remove(begin, length);
                offset = begin;
            }
        }
        top_ = offset + size;
        return offset;
    }
    void add(Bytes offset, Bytes size) {
        by_offset_.emplace(offset, size);
        by_size_.emplace(size, offset);
    }
    void remove(Bytes offset, Bytes size) {
        by_offset_.erase(offset);
        by_size_.erase({size, offset});
    }

    std::map<Bytes, Bytes> by_offset_;
    std::set<std::pair<Bytes, Bytes>> by_size_;
    Bytes top_;
};

// Places blocks in the order of time, without lookahead: n log n, for traces of any size.
ArenaPlan place_as_they_come(std::span<const ArenaBlock> blocks) {
    ArenaPlan plan{std::vector<Bytes>(blocks.size()), {}};
    const auto ends_first = [](const ArenaBlock& a, const ArenaBlock& b) {
        return a.upper < b.upper;
    };
    const Order ending = sorted(blocks, ends_first);
    FreeRanges free;
    std::size_t num_ended = 0;
    for (const std::size_t index : make_order(blocks, By::begin)) {
        for (; blocks[ending[num_ended]].upper <= blocks[index].lower; ++num_ended) {
            const std::size_t ended = ending[num_ended];
            free.give(plan.offsets[ended], blocks[ended].size);
        }
        plan.offsets[index] = free.take(blocks[index].size);
    }
    plan.peak = peak_of(blocks, plan.offsets);
    return plan;
}

class GreedySolver final : public ArenaSolver {
public:
    void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                 const ArenaLimits& limits, ArenaOutcome& best) const override {
        ArenaPlan first = place_as_they_come(blocks);
        if (first.peak < best.plan.peak) best.plan = std::move(first);
        if (goal.is_reached(best)) return;
        for (const By by : kOrders) {
            const Order order = make_order(blocks, by);
            for (const Fit fit : {Fit::lowest, Fit::tightest}) {
                std::optional<ArenaPlan> plan = place_in_order(blocks, order, fit, limits);
                if (!plan) return;
                if (plan->peak < best.plan.peak) best.plan = *std::move(plan);
                if (goal.is_reached(best)) return;
            }
        }
    }
};

}  // namespace

ArenaOutcome stacked_outcome(std::span<const ArenaBlock> blocks) {
    ArenaOutcome outcome{{}, peak_live(blocks)};
    for (const ArenaBlock& block : blocks) {
        outcome.plan.offsets.push_back(outcome.plan.peak);
        outcome.plan.peak += block.size;
    }
    return outcome;
}

void ArenaOutcome::offer(std::span<const ArenaBlock> blocks,
                         std::span<const std::int64_t> offsets) {
    ArenaPlan other;
    for (const std::int64_t offset : offsets)
        other.offsets.push_back({offset});
    other.peak = peak_of(blocks, other.offsets);
    if (other.peak < plan.peak) plan = std::move(other);
}

std::unique_ptr<ArenaSolver> make_greedy_solver() {
    return std::make_unique<GreedySolver>();
}

}  // namespace rm
