#include "engine/memory/sweep/arena_sweep.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace rm {
namespace {

// Blocks rarely find room in several places at once: each further refill of a moment.
constexpr double kFurtherRefill = -4;
// A family of holes and ending blocks.
constexpr std::size_t kMaxFamily = 8;

constexpr double kBudgets[] = {1, 4, 2, 8, 16, 32};
constexpr double kNoises[] = {0, 1, 3, 0.5, 2};
constexpr int kNumBudgets = static_cast<int>(std::size(kBudgets));
constexpr int kNumNoises = static_cast<int>(std::size(kNoises));
// Enough to reach the end of time a few times.
constexpr std::int64_t kFirstNodes = 500;

std::size_t at(int index) {
    return usize(index);
}

std::vector<ArenaBlock> reversed(std::span<const ArenaBlock> blocks) {
    std::vector<ArenaBlock> list;
    for (const ArenaBlock& block : blocks)
        list.push_back({-block.upper, -block.lower, block.size});
    return list;
}

// The logarithm of one over the chance that a random order of n items has r given ones together.
double surprise(int num_items, std::size_t num_together) {
    const auto n = static_cast<double>(num_items);
    const auto r = static_cast<double>(num_together);
    return std::lgamma(n + 1) - std::lgamma(n - r + 2) - std::lgamma(r + 1);
}

}  // namespace

ArenaSweep::ArenaSweep(std::span<const ArenaBlock> blocks, Bytes target)
    : num_blocks_(blocks.size()) {
    for (const ArenaBlock& block : blocks) {
        sizes_.push_back(block.size.value);
        unit_ = std::gcd(unit_, block.size.value);
    }
    sizes_.push_back(target.value);
    find_events(blocks);
    find_demands();
}

void ArenaSweep::find_events(std::span<const ArenaBlock> blocks) {
    std::map<std::int64_t, Event> events;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        events[blocks[i].lower].beginning.push_back(static_cast<int>(i));
        events[blocks[i].upper].ending.push_back(static_cast<int>(i));
    }
    for (auto& [time, event] : events)
        events_.push_back(std::move(event));
}

void ArenaSweep::find_demands() {
    for (const Event& event : events_) {
        std::int64_t demand = 0;
        for (const int block : event.beginning)
            demand += sizes_[at(block)];
        for (const int block : event.ending)
            demand -= sizes_[at(block)];
        if (demand > 0) demands_.push_back(demand);
    }
    std::sort(demands_.begin(), demands_.end());
}

std::optional<std::vector<std::int64_t>> ArenaSweep::run(const Attempt& attempt,
                                                         const std::function<bool()>& interrupted) {
    attempt_ = attempt;
    interrupted_ = &interrupted;
    rng_ = Rng(attempt.seed);
    nodes_left_ = attempt.max_nodes;
    take_back(0, num_blocks_ + 1);
    const ArenaItems all = {static_cast<int>(num_blocks_)};
    State state{OrderTree(all), all};
    if (!advance(0, state, attempt.budget)) return std::nullopt;
    return place();
}

bool ArenaSweep::advance(std::size_t event, State& state, double budget) {
    for (; event < events_.size() && events_[event].beginning.empty(); ++event)
        state.holes = both(std::move(state.holes), events_[event].ending);
    if (event == events_.size()) {
        last_order_ = state.tree.any_order();
        return true;
    }
    if (--nodes_left_ < 0 || (*interrupted_)()) return false;
    const std::vector<Option> options = options_of(events_[event], state);
    state.holes = both(std::move(state.holes), events_[event].ending);
    double rank = 0;
    for (const Option& option : options) {
        // The second best costs one at least, or many equals would take all nodes.
        const double cost = std::max(options.front().evidence - option.evidence, rank++);
        if (cost > budget) return false;
        if (advance_with(option, event, state, budget - cost)) return true;
        if (nodes_left_ < 0) return false;
    }
    return false;
}

bool ArenaSweep::advance_with(const Option& option, std::size_t event, const State& state,
                              double budget) {
    const std::size_t num_steps = steps_.size(), num_items = sizes_.size();
    State next = state;
    if (apply(option.refills, next, &steps_) && advance(event + 1, next, budget)) return true;
    take_back(num_steps, num_items);
    return false;
}

// The possible ways to find room, the best evidence first.
std::vector<ArenaSweep::Option> ArenaSweep::options_of(const Event& event, State& state) {
    ArenaMoment moment{.sizes = sizes_,
                       .unit = unit_,
                       .fresh = event.ending,
                       .old = {},
                       .families = state.tree.families(event.ending),
                       .blocks = event.beginning};
    const ArenaItems holes = both(state.holes, event.ending);
    for (std::vector<int>& family : state.tree.families(holes)) {
        if (family.size() <= kMaxFamily) moment.families.push_back(std::move(family));
    }
    const OrderTree::Near near = state.tree.near(event.ending);
    for (std::size_t i = 0; i < near.items.size(); ++i) {
        if (!contains(state.holes, near.items[i])) continue;
        moment.old.push_back(near.items[i]);
        if (i < near.num_within) ++moment.num_within;
    }
    std::vector<Option> options;
    const std::size_t num_items = sizes_.size();
    for (std::vector<Refill>& refills : list_refills(std::move(moment))) {
        State next{state.tree, holes};
        if (const auto evidence = apply(refills, next, nullptr)) {
            const double noise = -attempt_.noise * std::log(1e-9 + rng_.uniform());
            options.push_back({*evidence + noise, std::move(refills)});
        }
        sizes_.resize(num_items);
    }
    std::stable_sort(options.begin(), options.end(),
                     [](const Option& a, const Option& b) { return a.evidence > b.evidence; });
    return options;
}

// Nothing: no order allows it. Otherwise the evidence for these refills.
std::optional<double> ArenaSweep::apply(const std::vector<Refill>& refills, State& state,
                                        std::vector<Step>* steps) {
    double evidence = kFurtherRefill * static_cast<double>(refills.size() - 1);
    for (const Refill& refill : refills) {
        const double before = state.tree.log_orders();
        if (!state.tree.join(refill.room)) return std::nullopt;
        evidence += refill.evidence + surprise(state.tree.num_items(), refill.room.size()) -
                    (before - state.tree.log_orders());
        std::int64_t left = 0;
        for (const int item : refill.room)
            left += sizes_[at(item)];
        for (const int block : refill.blocks)
            left -= sizes_[at(block)];
        state.holes = without(state.holes, refill.room);
        ArenaItems others = refill.blocks;
        for (const std::int64_t hole : holes_of(left)) {
            others.push_back(static_cast<int>(sizes_.size()));
            state.holes.push_back(others.back());
            sizes_.push_back(hole);
        }
        if (steps != nullptr) steps->push_back({state.tree, refill.room, others});
        state.tree.replace(refill.room, others);
    }
    return evidence;
}

void ArenaSweep::take_back(std::size_t num_steps, std::size_t num_items) {
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(num_steps), steps_.end());
    sizes_.resize(num_items);
}

// The parts of a hole that later moments may need apart: where these are not clear, a guess.
std::vector<std::int64_t> ArenaSweep::holes_of(std::int64_t bytes) {
    if (bytes == 0) return {};
    if (is_demanded(bytes)) return {bytes};
    for (const std::int64_t demand : demands_) {
        if (demand < bytes && is_demanded(bytes - demand)) return {demand, bytes - demand};
    }
    const auto num_smaller =
        std::lower_bound(demands_.begin(), demands_.end(), bytes) - demands_.begin();
    if (attempt_.noise == 0 || num_smaller == 0 || rng_.below(2) == 0) return {bytes};
    const std::int64_t part = demands_[rng_.below(static_cast<std::uint64_t>(num_smaller))];
    return {part, bytes - part};
}

bool ArenaSweep::is_demanded(std::int64_t bytes) const {
    return std::binary_search(demands_.begin(), demands_.end(), bytes);
}

// Fixes an order of the last moment, and with it those of all before.
std::vector<std::int64_t> ArenaSweep::place() const {
    std::vector<std::int64_t> offsets(sizes_.size()), places(sizes_.size());
    const auto lay = [&](const std::vector<int>& order) {
        std::int64_t top = 0, place = 0;
        for (const int item : order) {
            offsets[at(item)] = top;
            places[at(item)] = place++;
            top += sizes_[at(item)];
        }
    };
    lay(last_order_);
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
        const std::int64_t place = places[at(step->others.front())];
        for (const int item : step->room)
            places[at(item)] = place;
        lay(step->before.order(places));
    }
    offsets.resize(num_blocks_);
    return offsets;
}

ArenaSweeps::ArenaSweeps(std::span<const ArenaBlock> blocks, Bytes target)
    : target_(target), forward_(blocks, target), backward_(reversed(blocks), target) {}

std::optional<std::vector<std::int64_t>> ArenaSweeps::run(
    std::int64_t max_nodes, const std::function<bool()>& interrupted) {
    while (max_nodes > 0 && !interrupted()) {
        const ArenaSweep::Attempt attempt{
            .budget = kBudgets[round_ % kNumBudgets],
            .noise = round_ < kNumBudgets ? 0 : kNoises[round_ % kNumNoises],
            .seed = static_cast<std::uint64_t>(round_),
            .max_nodes = kFirstNodes * (1 + round_ / kNumBudgets)};
        for (ArenaSweep* sweep : {&forward_, &backward_}) {
            if (auto offsets = sweep->run(attempt, interrupted)) return offsets;
        }
        max_nodes -= 2 * attempt.max_nodes;
        ++round_;
    }
    return std::nullopt;
}

}  // namespace rm
