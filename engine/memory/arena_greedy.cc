#include <algorithm>
#include <limits>
#include <numeric>

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

// Blocks that have an offset, by that offset.
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

ArenaPlan place_in_order(std::span<const ArenaBlock> blocks, const Order& order, Fit fit) {
    ArenaPlan plan{std::vector<Bytes>(blocks.size()), {}};
    Placed placed(blocks, plan.offsets);
    for (const std::size_t index : order)
        placed.place(index, fit);
    plan.peak = peak_of(blocks, plan.offsets);
    return plan;
}

class GreedySolver final : public ArenaSolver {
public:
    void improve(std::span<const ArenaBlock> blocks, const ArenaGoal& goal,
                 const ArenaLimits& limits, ArenaOutcome& best) const override {
        for (const By by : kOrders) {
            const Order order = make_order(blocks, by);
            for (const Fit fit : {Fit::lowest, Fit::tightest}) {
                ArenaPlan plan = place_in_order(blocks, order, fit);
                if (plan.peak < best.plan.peak) best.plan = std::move(plan);
                if (goal.is_reached(best) || limits.reached()) return;
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

std::unique_ptr<ArenaSolver> make_greedy_solver() {
    return std::make_unique<GreedySolver>();
}

}  // namespace rm
